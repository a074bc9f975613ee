; Functions whose stack maps have all kinds of locations. Each holds references across a call of rt_collect, which moves every
; object, and returns what it then reads from them. A node is { i8* type; i8 addrspace(1)* left, right; i64 value }.

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128-ni:1"
target triple = "x86_64-pc-linux-gnu"

declare void @rt_collect(i8*)
declare void @rt_escape(i8*) noreturn
declare i64 @rt_call_back(i8*, i8 addrspace(1)*, i64)
declare void @rt_touch(i8*) "gc-leaf-function"

define internal i64 @value(i8 addrspace(1)* %node) alwaysinline gc "statepoint-example" {
  %byte = getelementptr i8, i8 addrspace(1)* %node, i64 24
  %at = bitcast i8 addrspace(1)* %byte to i64 addrspace(1)*
  %value = load i64, i64 addrspace(1)* %at
  ret i64 %value
}

define internal i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b) alwaysinline gc "statepoint-example" {
  %x = call i64 @value(i8 addrspace(1)* %a)
  %y = call i64 @value(i8 addrspace(1)* %b)
  %x10 = mul i64 %x, 10
  %sum = add i64 %x10, %y
  ret i64 %sum
}

define i64 @zoo_plain(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b) gc "statepoint-example" {
  call void @rt_collect(i8* %thread)
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  ret i64 %sum
}

; Deopt operands: numbers of all sizes, one that is in no general register, references, and a variable on the stack.
define i64 @zoo_deopt(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, double %d) gc "statepoint-example" {
  %variable = alloca i64
  store i64 5, i64* %variable
  call void @rt_collect(i8* %thread) [ "deopt"(i32 -1, i64 123456789012345, i8 addrspace(1)* %a, double %d, i64* %variable,
                                                i8 addrspace(1)* %b, i8 addrspace(1)* null) ]
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  ret i64 %sum
}

define i64 @zoo_vector(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b) gc "statepoint-example" {
  %half = insertelement <2 x i8 addrspace(1)*> undef, i8 addrspace(1)* %a, i32 0
  %both = insertelement <2 x i8 addrspace(1)*> %half, i8 addrspace(1)* %b, i32 1
  call void @rt_collect(i8* %thread)
  %x = extractelement <2 x i8 addrspace(1)*> %both, i32 0
  %y = extractelement <2 x i8 addrspace(1)*> %both, i32 1
  %sum = call i64 @weighed(i8 addrspace(1)* %x, i8 addrspace(1)* %y)
  ret i64 %sum
}

; A vector of pointers at run-time distances from a vector of objects.
define i64 @zoo_derived_vector(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
  %half = insertelement <2 x i8 addrspace(1)*> undef, i8 addrspace(1)* %a, i32 0
  %both = insertelement <2 x i8 addrspace(1)*> %half, i8 addrspace(1)* %b, i32 1
  %distance.1 = insertelement <2 x i64> undef, i64 %n, i32 0
  %distance = insertelement <2 x i64> %distance.1, i64 %n, i32 1
  %fields = getelementptr i8, <2 x i8 addrspace(1)*> %both, <2 x i64> %distance
  call void @rt_collect(i8* %thread)
  %x.byte = extractelement <2 x i8 addrspace(1)*> %fields, i32 0
  %y.byte = extractelement <2 x i8 addrspace(1)*> %fields, i32 1
  %x.at = bitcast i8 addrspace(1)* %x.byte to i64 addrspace(1)*
  %y.at = bitcast i8 addrspace(1)* %y.byte to i64 addrspace(1)*
  %x = load i64, i64 addrspace(1)* %x.at
  %y = load i64, i64 addrspace(1)* %y.at
  %x10 = mul i64 %x, 10
  %sum = add i64 %x10, %y
  ret i64 %sum
}

; One pointer that is derived from this object or from that one.
define i64 @zoo_select(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
  %far = getelementptr i8, i8 addrspace(1)* %a, i64 1000
  %at.a = getelementptr i8, i8 addrspace(1)* %far, i64 %n
  %at.b = getelementptr i8, i8 addrspace(1)* %b, i64 %n
  %odd = trunc i64 %n to i1
  %at = select i1 %odd, i8 addrspace(1)* %at.a, i8 addrspace(1)* %at.b
  call void @rt_collect(i8* %thread)
  call void @rt_collect(i8* %thread)
  %back.a = select i1 %odd, i64 -1000, i64 0
  %whole = sub i64 %back.a, %n
  %node = getelementptr i8, i8 addrspace(1)* %at, i64 %whole
  %value = call i64 @value(i8 addrspace(1)* %node)
  ret i64 %value
}

; Stack of variable size: the frame is found by rbp, and so are the references.
define i64 @zoo_dynamic(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
  %room = alloca i8, i64 %n
  call void @rt_touch(i8* %room)
  call void @rt_collect(i8* %thread)
  call void @rt_touch(i8* %room)
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  ret i64 %sum
}

define i64 @zoo_aligned(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b) gc "statepoint-example" {
  %room = alloca i8, align 64
  call void @rt_touch(i8* %room)
  call void @rt_collect(i8* %thread)
  call void @rt_touch(i8* %room)
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  ret i64 %sum
}

; Both: the references are found by rbx.
define i64 @zoo_dynamic_aligned(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
  %room = alloca i8, align 64
  %more = alloca i8, i64 %n
  call void @rt_touch(i8* %room)
  call void @rt_touch(i8* %more)
  call void @rt_collect(i8* %thread)
  call void @rt_touch(i8* %room)
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  ret i64 %sum
}

; Arguments on the stack, which calls push.
define i64 @zoo_nine(i8* %thread, i8 addrspace(1)* %a, i64 %p3, i64 %p4, i64 %p5, i64 %p6, i64 %p7, i64 %p8, i8 addrspace(1)* %b)
    noinline gc "statepoint-example" {
  call void @rt_collect(i8* %thread)
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  %s1 = mul i64 %sum, %p7
  %s2 = add i64 %s1, %p8
  ret i64 %s2
}

define i64 @zoo_pushes(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
  %x = call i64 @zoo_nine(i8* %thread, i8 addrspace(1)* %a, i64 3, i64 4, i64 5, i64 6, i64 %n, i64 8, i8 addrspace(1)* %b)
  %y = call i64 @zoo_nine(i8* %thread, i8 addrspace(1)* %b, i64 3, i64 4, i64 5, i64 6, i64 %n, i64 %x, i8 addrspace(1)* %a)
  ret i64 %y
}

; Many frames, of which each holds both references.
define i64 @zoo_deep(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
entry:
  %bottom = icmp eq i64 %n, 0
  br i1 %bottom, label %collect, label %deeper

collect:
  call void @rt_collect(i8* %thread)
  br label %join

deeper:
  %less = sub i64 %n, 1
  %below = call i64 @zoo_deep(i8* %thread, i8 addrspace(1)* %b, i8 addrspace(1)* %a, i64 %less)
  br label %join

join:
  %under = phi i64 [ 0, %collect ], [ %below, %deeper ]
  %sum = call i64 @weighed(i8 addrspace(1)* %a, i8 addrspace(1)* %b)
  %all = add i64 %under, %sum
  ret i64 %all
}

; Through native code, and back into compiled code, n times.
define i64 @zoo_back(i8* %thread, i8 addrspace(1)* %a, i64 %n) gc "statepoint-example" {
entry:
  %bottom = icmp eq i64 %n, 0
  br i1 %bottom, label %collect, label %deeper

collect:
  call void @rt_collect(i8* %thread)
  br label %join

deeper:
  %less = sub i64 %n, 1
  %below = call i64 @rt_call_back(i8* %thread, i8 addrspace(1)* %a, i64 %less)
  br label %join

join:
  %under = phi i64 [ 0, %collect ], [ %below, %deeper ]
  %value = call i64 @value(i8 addrspace(1)* %a)
  %all = add i64 %under, %value
  ret i64 %all
}

; The last instruction is a call, which returns to the end of the function.
define void @zoo_escape(i8* %thread, i8 addrspace(1)* %a) gc "statepoint-example" {
  call void @rt_escape(i8* %thread) [ "deopt"(i8 addrspace(1)* %a) ]
  unreachable
}

; More references than there are registers, in a loop that derives pointers from all of them.
define i64 @zoo_loop(i8* %thread, i8 addrspace(1)* %a, i8 addrspace(1)* %b, i64 %n) gc "statepoint-example" {
entry:
  br label %loop

loop:
  %p = phi i8 addrspace(1)* [ %a, %entry ], [ %q.next, %loop ]
  %q = phi i8 addrspace(1)* [ %b, %entry ], [ %p.next, %loop ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  call void @rt_collect(i8* %thread)
  %p.next = getelementptr i8, i8 addrspace(1)* %p, i64 8
  %q.next = getelementptr i8, i8 addrspace(1)* %q, i64 8
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %loop, label %end

end:
  call void @rt_collect(i8* %thread)
  %x.at = bitcast i8 addrspace(1)* %p.next to i64 addrspace(1)*
  %y.at = bitcast i8 addrspace(1)* %q.next to i64 addrspace(1)*
  %x = load i64, i64 addrspace(1)* %x.at
  %y = load i64, i64 addrspace(1)* %y.at
  %x10 = mul i64 %x, 10
  %sum = add i64 %x10, %y
  ret i64 %sum
}
