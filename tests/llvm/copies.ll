; A function that several modules define, and of which the linker keeps one copy.
target triple = "x86_64-pc-linux-gnu"

declare void @rt_collect(i8*)

define linkonce_odr i64 @copied(i8* %thread, i8 addrspace(1)* %a) noinline "frame-pointer"="all" gc "statepoint-example" {
  call void @rt_collect(i8* %thread)
  %byte = getelementptr i8, i8 addrspace(1)* %a, i64 24
  %at = bitcast i8 addrspace(1)* %byte to i64 addrspace(1)*
  %value = load i64, i64 addrspace(1)* %at
  ret i64 %value
}

define i64 @use_MODULE(i8* %thread, i8 addrspace(1)* %a) "frame-pointer"="all" gc "statepoint-example" {
  %x = call i64 @copied(i8* %thread, i8 addrspace(1)* %a)
  ret i64 %x
}
