; Trees: those of the binary-trees benchmark, and a search tree. See lists.ll for what the functions have in common.

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128-ni:1"
target triple = "x86_64-pc-linux-gnu"

@tree_type = external constant i8 ; { i8* type; i8 addrspace(1)* left, right; i64 key }

declare i8 addrspace(1)* @rt_new(i8*, i8*)
declare void @rt_store(i8*, i8 addrspace(1)*, i8 addrspace(1)*) "gc-leaf-function"

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

define internal i8 addrspace(1)* @load(i8 addrspace(1)* %tree, i64 %offset) #1 gc "statepoint-example" {
  %byte = getelementptr i8, i8 addrspace(1)* %tree, i64 %offset
  %at = bitcast i8 addrspace(1)* %byte to i8 addrspace(1)* addrspace(1)*
  %child = load i8 addrspace(1)*, i8 addrspace(1)* addrspace(1)* %at
  ret i8 addrspace(1)* %child
}

define internal i64 addrspace(1)* @key(i8 addrspace(1)* %tree) #1 gc "statepoint-example" {
  %byte = getelementptr i8, i8 addrspace(1)* %tree, i64 24
  %at = bitcast i8 addrspace(1)* %byte to i64 addrspace(1)*
  ret i64 addrspace(1)* %at
}

; A full tree of that depth. Both subtrees are made before their parent, which is new when they are stored to it.
define i8 addrspace(1)* @tree_make(i8* %thread, i64 %depth) #0 gc "statepoint-example" {
entry:
  %leaf = icmp eq i64 %depth, 0
  br i1 %leaf, label %join, label %children

children:
  %less = sub i64 %depth, 1
  %left = call i8 addrspace(1)* @tree_make(i8* %thread, i64 %less)
  %right = call i8 addrspace(1)* @tree_make(i8* %thread, i64 %less)
  br label %join

join:
  %l = phi i8 addrspace(1)* [ null, %entry ], [ %left, %children ]
  %r = phi i8 addrspace(1)* [ null, %entry ], [ %right, %children ]
  %tree = call i8 addrspace(1)* @new(i8* %thread, i8* @tree_type, i64 32)
  %l.byte = getelementptr i8, i8 addrspace(1)* %tree, i64 8
  %l.at = bitcast i8 addrspace(1)* %l.byte to i8 addrspace(1)* addrspace(1)*
  store i8 addrspace(1)* %l, i8 addrspace(1)* addrspace(1)* %l.at
  %r.byte = getelementptr i8, i8 addrspace(1)* %tree, i64 16
  %r.at = bitcast i8 addrspace(1)* %r.byte to i8 addrspace(1)* addrspace(1)*
  store i8 addrspace(1)* %r, i8 addrspace(1)* addrspace(1)* %r.at
  %key.at = call i64 addrspace(1)* @key(i8 addrspace(1)* %tree)
  store i64 %depth, i64 addrspace(1)* %key.at
  ret i8 addrspace(1)* %tree
}

define i64 @tree_count(i8* %thread, i8 addrspace(1)* %tree) #0 gc "statepoint-example" {
  %none = icmp eq i8 addrspace(1)* %tree, null
  br i1 %none, label %nothing, label %some

nothing:
  ret i64 0

some:
  %left = call i8 addrspace(1)* @load(i8 addrspace(1)* %tree, i64 8)
  %lefts = call i64 @tree_count(i8* %thread, i8 addrspace(1)* %left)
  %right = call i8 addrspace(1)* @load(i8 addrspace(1)* %tree, i64 16)
  %rights = call i64 @tree_count(i8* %thread, i8 addrspace(1)* %right)
  %both = add i64 %lefts, %rights
  %all = add i64 %both, 1
  ret i64 %all
}

; Inserts a key into a search tree, unless it is there, and returns the tree. The new node is stored into what may be an old
; one, by the write barrier; %slot, the address of that field, is held across the allocation: a derived pointer.
define i8 addrspace(1)* @tree_insert(i8* %thread, i8 addrspace(1)* %root, i64 %key) #0 gc "statepoint-example" {
entry:
  %empty = icmp eq i8 addrspace(1)* %root, null
  br i1 %empty, label %first, label %down

down:
  %node = phi i8 addrspace(1)* [ %root, %entry ], [ %child, %next ]
  %key.at = call i64 addrspace(1)* @key(i8 addrspace(1)* %node)
  %here = load i64, i64 addrspace(1)* %key.at
  %found = icmp eq i64 %key, %here
  br i1 %found, label %end, label %next

next:
  %less = icmp slt i64 %key, %here
  %offset = select i1 %less, i64 8, i64 16
  %slot = getelementptr i8, i8 addrspace(1)* %node, i64 %offset
  %slot.at = bitcast i8 addrspace(1)* %slot to i8 addrspace(1)* addrspace(1)*
  %child = load i8 addrspace(1)*, i8 addrspace(1)* addrspace(1)* %slot.at
  %free = icmp eq i8 addrspace(1)* %child, null
  br i1 %free, label %add, label %down

add:
  %new = call i8 addrspace(1)* @new(i8* %thread, i8* @tree_type, i64 32)
  %new.key = call i64 addrspace(1)* @key(i8 addrspace(1)* %new)
  store i64 %key, i64 addrspace(1)* %new.key
  call void @rt_store(i8* %thread, i8 addrspace(1)* %slot, i8 addrspace(1)* %new)
  br label %end

first:
  %only = call i8 addrspace(1)* @new(i8* %thread, i8* @tree_type, i64 32)
  %only.key = call i64 addrspace(1)* @key(i8 addrspace(1)* %only)
  store i64 %key, i64 addrspace(1)* %only.key
  br label %end

end:
  %tree = phi i8 addrspace(1)* [ %root, %down ], [ %root, %add ], [ %only, %first ]
  ret i8 addrspace(1)* %tree
}

; The sum of the keys in ascending order, each by its position, from `sum` on; 9 arguments, of which three are on the stack.
define i64 @tree_sum(i8* %thread, i8 addrspace(1)* %tree, i64 %sum, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %factor)
    #0 gc "statepoint-example" {
  %none = icmp eq i8 addrspace(1)* %tree, null
  br i1 %none, label %nothing, label %some

nothing:
  ret i64 %sum

some:
  %left = call i8 addrspace(1)* @load(i8 addrspace(1)* %tree, i64 8)
  %lefts = call i64 @tree_sum(i8* %thread, i8 addrspace(1)* %left, i64 %sum, i64 %b, i64 %c, i64 %d, i64 %e, i64 %a,
                              i64 %factor)
  %garbage = call i8 addrspace(1)* @new(i8* %thread, i8* @tree_type, i64 32)
  %mixed = mul i64 %lefts, %factor
  %key.at = call i64 addrspace(1)* @key(i8 addrspace(1)* %tree)
  %key = load i64, i64 addrspace(1)* %key.at
  %here = add i64 %mixed, %key
  %more = add i64 %here, %a
  %right = call i8 addrspace(1)* @load(i8 addrspace(1)* %tree, i64 16)
  %all = call i64 @tree_sum(i8* %thread, i8 addrspace(1)* %right, i64 %more, i64 %b, i64 %c, i64 %d, i64 %e, i64 %a,
                            i64 %factor)
  ret i64 %all
}

attributes #0 = { "frame-pointer"="all" }
attributes #1 = { alwaysinline "frame-pointer"="all" }
