; Lists, and an array that a loop walks by a pointer into it, in LLVM IR for the runtime of runtime.c.
;
; References are of type i8 addrspace(1)*. Every function that has any is of `gc "statepoint-example"`, and keeps its frame
; pointer; the optimizer makes each of its calls a safe point, but for those of a "gc-leaf-function". The first parameter is
; the gc_thread. The offsets in it, and in objects, are checked in runtime.c.

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128-ni:1"
target triple = "x86_64-pc-linux-gnu"

@cell_type = external constant i8 ; { i8* type; i8 addrspace(1)* next; i64 value }

declare i8 addrspace(1)* @rt_new(i8*, i8*)
declare i8 addrspace(1)* @rt_new_words(i8*, i64)
declare void @rt_poll(i8*)
declare void @rt_store(i8*, i8 addrspace(1)*, i8 addrspace(1)*) "gc-leaf-function"
declare i64 @rt_mix(i8*, i64, i64)

; A new object, in the window of the thread if it fits. The window's pointer is loaded and stored as volatile: the optimizer
; must not learn that two objects lie side by side, since it would derive the address of the second from the first.
define internal i8 addrspace(1)* @new(i8* %thread, i8* %type, i64 %bytes) #1 gc "statepoint-example" {
  %next.at = bitcast i8* %thread to i8 addrspace(1)**
  %limit.at = getelementptr i8 addrspace(1)*, i8 addrspace(1)** %next.at, i64 1
  %next = load volatile i8 addrspace(1)*, i8 addrspace(1)** %next.at
  %limit = load volatile i8 addrspace(1)*, i8 addrspace(1)** %limit.at
  %end = getelementptr i8, i8 addrspace(1)* %next, i64 %bytes
  %fits = icmp ule i8 addrspace(1)* %end, %limit
  br i1 %fits, label %fast, label %slow

fast:
  store volatile i8 addrspace(1)* %end, i8 addrspace(1)** %next.at
  %header = bitcast i8 addrspace(1)* %next to i8* addrspace(1)*
  store i8* %type, i8* addrspace(1)* %header
  ret i8 addrspace(1)* %next

slow:
  %made = call i8 addrspace(1)* @rt_new(i8* %thread, i8* %type)
  ret i8 addrspace(1)* %made
}

; A place where a collection may run: gc_thread.poll is at 88.
define internal void @poll(i8* %thread) #1 gc "statepoint-example" {
  %at = getelementptr i8, i8* %thread, i64 88
  %poll.at = bitcast i8* %at to i32*
  %poll = load atomic i32, i32* %poll.at monotonic, align 4
  %quiet = icmp eq i32 %poll, 0
  br i1 %quiet, label %done, label %stop

stop:
  call void @rt_poll(i8* %thread)
  br label %done

done:
  ret void
}

define internal i8 addrspace(1)* @cons(i8* %thread, i64 %value, i8 addrspace(1)* %next) #1 gc "statepoint-example" {
  %cell = call i8 addrspace(1)* @new(i8* %thread, i8* @cell_type, i64 24)
  %at = getelementptr i8, i8 addrspace(1)* %cell, i64 8
  %next.at = bitcast i8 addrspace(1)* %at to i8 addrspace(1)* addrspace(1)*
  store i8 addrspace(1)* %next, i8 addrspace(1)* addrspace(1)* %next.at ; a new object needs no barrier
  %value.byte = getelementptr i8, i8 addrspace(1)* %cell, i64 16
  %value.at = bitcast i8 addrspace(1)* %value.byte to i64 addrspace(1)*
  store i64 %value, i64 addrspace(1)* %value.at
  ret i8 addrspace(1)* %cell
}

; The list of 1 .. n.
define i8 addrspace(1)* @list_make(i8* %thread, i64 %n) #0 gc "statepoint-example" {
entry:
  br label %loop

loop:
  %i = phi i64 [ %n, %entry ], [ %less, %more ]
  %list = phi i8 addrspace(1)* [ null, %entry ], [ %longer, %more ]
  %done = icmp eq i64 %i, 0
  br i1 %done, label %end, label %more

more:
  %longer = call i8 addrspace(1)* @cons(i8* %thread, i64 %i, i8 addrspace(1)* %list)
  %less = sub i64 %i, 1
  br label %loop

end:
  ret i8 addrspace(1)* %list
}

; Reverses the list in place, by stores with the write barrier; each step allocates, and so may collect.
define i8 addrspace(1)* @list_reverse(i8* %thread, i8 addrspace(1)* %list) #0 gc "statepoint-example" {
entry:
  br label %loop

loop:
  %from = phi i8 addrspace(1)* [ %list, %entry ], [ %rest, %step ]
  %to = phi i8 addrspace(1)* [ null, %entry ], [ %from, %step ]
  %done = icmp eq i8 addrspace(1)* %from, null
  br i1 %done, label %end, label %step

step:
  %garbage = call i8 addrspace(1)* @cons(i8* %thread, i64 0, i8 addrspace(1)* %from)
  %at = getelementptr i8, i8 addrspace(1)* %from, i64 8
  %next.at = bitcast i8 addrspace(1)* %at to i8 addrspace(1)* addrspace(1)*
  %rest = load i8 addrspace(1)*, i8 addrspace(1)* addrspace(1)* %next.at
  call void @rt_store(i8* %thread, i8 addrspace(1)* %at, i8 addrspace(1)* %to)
  br label %loop

end:
  ret i8 addrspace(1)* %to
}

; The sum of position * value: it depends on the order.
define i64 @list_sum(i8* %thread, i8 addrspace(1)* %list) #0 gc "statepoint-example" {
entry:
  br label %loop

loop:
  %cell = phi i8 addrspace(1)* [ %list, %entry ], [ %rest, %step ]
  %position = phi i64 [ 1, %entry ], [ %further, %step ]
  %sum = phi i64 [ 0, %entry ], [ %more, %step ]
  %done = icmp eq i8 addrspace(1)* %cell, null
  br i1 %done, label %end, label %step

step:
  call void @poll(i8* %thread)
  %value.byte = getelementptr i8, i8 addrspace(1)* %cell, i64 16
  %value.at = bitcast i8 addrspace(1)* %value.byte to i64 addrspace(1)*
  %value = load i64, i64 addrspace(1)* %value.at
  %product = mul i64 %position, %value
  %more = add i64 %sum, %product
  %further = add i64 %position, 1
  %at = getelementptr i8, i8 addrspace(1)* %cell, i64 8
  %next.at = bitcast i8 addrspace(1)* %at to i8 addrspace(1)* addrspace(1)*
  %rest = load i8 addrspace(1)*, i8 addrspace(1)* addrspace(1)* %next.at
  br label %loop

end:
  ret i64 %sum
}

; Fills an array of words by a pointer that advances through it, and is held across a call that collects: at each such call
; the pointer is derived from the array. Then the same backwards. An array is { i8* type; i64 length; i64 words[] }.
define i64 @words_sum(i8* %thread, i64 %n) #0 gc "statepoint-example" {
entry:
  %array = call i8 addrspace(1)* @rt_new_words(i8* %thread, i64 %n)
  %first = getelementptr i8, i8 addrspace(1)* %array, i64 16
  br label %fill

fill:
  %at = phi i8 addrspace(1)* [ %first, %entry ], [ %at.next, %fill.step ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %fill.step ]
  %full = icmp eq i64 %i, %n
  br i1 %full, label %sum, label %fill.step

fill.step:
  %mixed = call i64 @rt_mix(i8* %thread, i64 %i, i64 7)
  %word = bitcast i8 addrspace(1)* %at to i64 addrspace(1)*
  store i64 %mixed, i64 addrspace(1)* %word
  %at.next = getelementptr i8, i8 addrspace(1)* %at, i64 8
  %i.next = add i64 %i, 1
  br label %fill

sum:
  %back = phi i8 addrspace(1)* [ %at, %fill ], [ %back.next, %sum.step ]
  %left = phi i64 [ %n, %fill ], [ %left.next, %sum.step ]
  %total = phi i64 [ 0, %fill ], [ %total.next, %sum.step ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %end, label %sum.step

sum.step:
  %back.next = getelementptr i8, i8 addrspace(1)* %back, i64 -8
  %last = bitcast i8 addrspace(1)* %back.next to i64 addrspace(1)*
  %value = load i64, i64 addrspace(1)* %last
  %total.next = call i64 @rt_mix(i8* %thread, i64 %total, i64 %value)
  %left.next = sub i64 %left, 1
  br label %sum

end:
  ret i64 %total
}

attributes #0 = { "frame-pointer"="all" }
attributes #1 = { alwaysinline "frame-pointer"="all" }
