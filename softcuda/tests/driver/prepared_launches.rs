//! The oldest way of launching: block, shared memory and arguments are set of the function, and a launch names it and a grid.

use crate::common::captures::{GLOBAL, INVALIDATED, UNSUPPORTED, begin, end};
use crate::common::streams::{ILLEGAL_ADDRESS, INVALID_HANDLE, free_stream, synchronize};
use crate::common::{INVALID_CONTEXT, INVALID_VALUE, Library, alone, at, everywhere, first, with_context};

const OUT_OF_RESOURCES: i32 = 701;

/// Writes its arguments, its sizes, and how much dynamic shared memory it has.
const KERNELS: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .entry tell(.param .u64 out, .param .u32 a, .param .f32 b, .param .u64 c) {\n\
    .reg .u64 %out, %c;\n.reg .u32 %x;\n.reg .f32 %b;\n\
    ld.param.u64 %out, [out];\nld.param.u32 %x, [a];\nst.global.u32 [%out], %x;\n\
    ld.param.f32 %b, [b];\nst.global.f32 [%out+4], %b;\nld.param.u64 %c, [c];\nst.global.u64 [%out+8], %c;\n\
    mov.u32 %x, %ntid.x;\nst.global.u32 [%out+16], %x;\nmov.u32 %x, %ntid.y;\nst.global.u32 [%out+20], %x;\n\
    mov.u32 %x, %ntid.z;\nst.global.u32 [%out+24], %x;\nmov.u32 %x, %nctaid.x;\nst.global.u32 [%out+28], %x;\n\
    mov.u32 %x, %nctaid.y;\nst.global.u32 [%out+32], %x;\nmov.u32 %x, %dynamic_smem_size;\n\
    st.global.u32 [%out+36], %x;\nret;\n}\n\
    .visible .entry nothing() { ret; }\n\0";

struct Scene {
    cu: Library,
    module: u64,
    tell: u64,
    nothing: u64,
    memory: u64,
}

impl Scene {
    fn new() -> Self {
        let cu = with_context();
        let (mut module, [mut tell, mut nothing]) = (0, [0; 2]);
        assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), KERNELS.as_ptr() as u64]), 0);
        for (place, name) in [(&mut tell, c"tell"), (&mut nothing, c"nothing")] {
            assert_eq!(cu.call("cuModuleGetFunction", &[at(place), module, name.as_ptr() as u64]), 0);
        }
        let memory = cu.allocate(64).1;
        Self { cu, module, tell, nothing, memory }
    }

    fn block(&self, function: u64, block: [i32; 3]) -> i32 {
        let [x, y, z] = block.map(|size| u64::from(size as u32));
        self.cu.call("cuFuncSetBlockShape", &[function, x, y, z])
    }

    fn set(&self, function: u64, offset: i32, value: u32) -> i32 {
        self.cu.call("cuParamSeti", &[function, u64::from(offset as u32), u64::from(value)])
    }

    fn set_float(&self, function: u64, offset: i32, value: f32) -> i32 {
        type Set = extern "C" fn(u64, i32, f32) -> i32;
        // SAFETY: the export has this type.
        let set = unsafe { std::mem::transmute::<usize, Set>(self.cu.symbol("cuParamSetf")) };
        set(function, offset, value)
    }

    fn set_bytes(&self, function: u64, offset: i32, bytes: &[u8]) -> i32 {
        let arguments = [function, u64::from(offset as u32), first(bytes), bytes.len() as u64];
        self.cu.call("cuParamSetv", &arguments)
    }

    fn size(&self, function: u64, size: u32) -> i32 {
        self.cu.call("cuParamSetSize", &[function, u64::from(size)])
    }

    /// Sets all arguments.
    fn fill(&self, function: u64, number: u32) {
        assert_eq!(self.size(function, 24), 0);
        assert_eq!(self.set_bytes(function, 0, &self.memory.to_ne_bytes()), 0);
        assert_eq!(self.set(function, 8, number), 0);
        assert_eq!(self.set_float(function, 12, 1.5), 0);
        assert_eq!(self.set_bytes(function, 16, &0x0005_0000_0006u64.to_ne_bytes()), 0);
    }

    /// What a kernel has told.
    fn told(&self) -> [u32; 10] {
        let mut told = [0u32; 10];
        assert_eq!(self.cu.call("cuMemcpyDtoH_v2", &[at(&mut told), self.memory, 40]), 0);
        told
    }

    fn expect(&self, number: u32, block: [u32; 3], grid: [u32; 2], shared: u32) {
        let [x, y, z] = block;
        let expected = [number, 1.5f32.to_bits(), 0x6, 0x5, x, y, z, grid[0], grid[1], shared];
        assert_eq!(self.told(), expected);
        assert_eq!(self.cu.call("cuMemsetD8_v2", &[self.memory, 0, 64]), 0);
        assert_eq!(self.cu.call("cuCtxSynchronize", &[]), 0);
    }
}

#[test]
fn what_was_set_is_launched_and_stays() {
    everywhere("what_was_set_is_launched_and_stays", || {
        let scene = Scene::new();
        let (cu, tell, stream) = (&scene.cu, scene.tell, free_stream(&scene.cu));
        scene.fill(tell, 11);
        assert_eq!(scene.block(tell, [4, 3, 2]), 0);
        assert_eq!(cu.call("cuFuncSetSharedSize", &[tell, 100]), 0);
        assert_eq!(cu.call("cuLaunch", &[tell]), 0);
        scene.expect(11, [4, 3, 2], [1, 1], 100);
        assert_eq!(cu.call("cuLaunchGrid", &[tell, 3, 2]), 0);
        scene.expect(11, [4, 3, 2], [3, 2], 100);
        assert_eq!(scene.set(tell, 8, 12), 0);
        assert_eq!(cu.call("cuLaunchGridAsync", &[tell, 2, 5, stream]), 0);
        // What is set now is for the next launch.
        assert_eq!(scene.set(tell, 8, 13), 0);
        assert_eq!(synchronize(cu, stream), 0);
        scene.expect(12, [4, 3, 2], [2, 5], 100);
        assert_eq!(cu.call("cuLaunch", &[tell]), 0);
        scene.expect(13, [4, 3, 2], [1, 1], 100);
        assert_eq!(cu.call("softcuda_live_objects", &[]), 4);
    });
}

/// Measured: a launch that says it all itself is what the next one has.
#[test]
fn other_launches_are_taken_over() {
    everywhere("other_launches_are_taken_over", || {
        let scene = Scene::new();
        let (cu, tell, stream) = (&scene.cu, scene.tell, free_stream(&scene.cu));
        scene.fill(tell, 1);
        let (number, float, rest) = (21u64, u64::from(1.5f32.to_bits()), 0x0005_0000_0006u64);
        let arguments = [&raw const scene.memory, &raw const number, &raw const float, &raw const rest];
        let config = [7 | 1 << 32, 1 | 2 << 32, 1 | 1 << 32, 64, stream, 0, 0];
        assert_eq!(cu.call("cuLaunchKernelEx", &[first(&config), tell, first(&arguments), 0]), 0);
        assert_eq!(synchronize(cu, stream), 0);
        scene.expect(21, [2, 1, 1], [7, 1], 64);
        assert_eq!(cu.call("cuLaunch", &[tell]), 0);
        scene.expect(21, [2, 1, 1], [1, 1], 64);
    });
}

/// Measured.
#[test]
fn no_capture_records_them() {
    everywhere("no_capture_records_them", || {
        let scene = Scene::new();
        let (cu, tell, stream) = (&scene.cu, scene.tell, free_stream(&scene.cu));
        scene.fill(tell, 7);
        assert_eq!(begin(cu, stream, GLOBAL), 0);
        assert_eq!(scene.block(tell, [2, 1, 1]), 0);
        assert_eq!(cu.call("cuLaunchGridAsync", &[tell, 3, 1, stream]), UNSUPPORTED);
        assert_eq!(end(cu, stream), (INVALIDATED, 0));
        assert_eq!(cu.call("cuLaunchGridAsync", &[tell, 3, 1, stream]), 0);
        assert_eq!(synchronize(cu, stream), 0);
        scene.expect(7, [2, 1, 1], [3, 1], 0);
    });
}

#[test]
fn what_cannot_be_set() {
    alone("what_cannot_be_set", &[], || {
        let scene = Scene::new();
        let (cu, tell) = (&scene.cu, scene.tell);
        for block in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [-1, 1, 1], [1025, 1, 1], [1, 1025, 1], [1, 1, 65]] {
            assert_eq!(scene.block(tell, block), INVALID_VALUE, "{block:?}");
        }
        assert_eq!(scene.block(tell, [32, 32, 2]), INVALID_VALUE, "too many threads");
        // How much shared memory a block may have is the kernel's to say.
        for (bytes, answer) in [(49_152, 0), (49_153, INVALID_VALUE)] {
            assert_eq!(cu.call("cuFuncSetSharedSize", &[tell, bytes]), answer, "{bytes}");
        }
        assert_eq!(cu.call("cuFuncSetAttribute", &[tell, 8, 60_000]), 0);
        assert_eq!(cu.call("cuFuncSetSharedSize", &[tell, 60_000]), 0);
        let beyond = [(-4, INVALID_VALUE), (32_761, INVALID_VALUE), (i32::MAX, INVALID_VALUE), (32_760, 0)];
        for (offset, answer) in beyond {
            assert_eq!(scene.set(tell, offset, 1), answer, "{offset}");
            assert_eq!(scene.set_float(tell, offset, 1.0), answer, "{offset}");
            assert_eq!(scene.set_bytes(tell, offset, &[1; 4]), answer, "{offset}");
        }
        assert_eq!(cu.call("cuParamSetv", &[tell, 0, 0, 8]), INVALID_VALUE);
        assert_eq!((scene.size(tell, 32_764), scene.size(tell, 32_765)), (0, INVALID_VALUE));
        assert_eq!(scene.size(tell, u32::MAX), 0, "measured");
        for none in [0, 0x1234] {
            assert_eq!(scene.block(none, [1, 1, 1]), INVALID_HANDLE);
            assert_eq!(cu.call("cuFuncSetSharedSize", &[none, 0]), INVALID_HANDLE);
            assert_eq!((scene.size(none, 4), scene.set(none, 0, 1)), (INVALID_HANDLE, INVALID_HANDLE));
            assert_eq!(cu.call("cuParamSetTexRef", &[none, u64::MAX, 0]), INVALID_HANDLE);
            assert_eq!(cu.call("cuLaunch", &[none]), INVALID_HANDLE);
            assert_eq!(cu.call("cuLaunchGridAsync", &[none, 1, 1, 0]), INVALID_HANDLE);
        }
        // There are no texture references.
        assert_eq!(cu.call("cuParamSetTexRef", &[tell, u64::MAX, 0]), INVALID_HANDLE);
        assert_eq!(cu.call("cuParamSetTexRef", &[tell, 0, 0]), INVALID_HANDLE);
        // A library's kernel is no function (measured).
        let (mut library, mut kernel) = (0u64, 0u64);
        let load = [at(&mut library), KERNELS.as_ptr() as u64, 0, 0, 0, 0, 0, 0];
        assert_eq!(cu.call("cuLibraryLoadData", &load), 0);
        let name = c"tell".as_ptr() as u64;
        assert_eq!(cu.call("cuLibraryGetKernel", &[at(&mut kernel), library, name]), 0);
        assert_eq!(scene.block(kernel, [1, 1, 1]), INVALID_HANDLE);
        assert_eq!(cu.call("cuLaunch", &[kernel]), INVALID_HANDLE);
        assert_eq!(cu.call("cuCtxSetCurrent", &[0]), 0);
        assert_eq!(
            (scene.block(tell, [1, 1, 1]), cu.call("cuLaunch", &[tell])),
            (INVALID_CONTEXT, INVALID_CONTEXT)
        );
    });
}

/// Measured: without arguments they are zeros, here an address; a size of 0 leaves those that there are.
#[test]
fn arguments_that_nobody_has_set() {
    alone("arguments_that_nobody_has_set", &[], || {
        let scene = Scene::new();
        let (cu, tell) = (&scene.cu, scene.tell);
        scene.fill(tell, 9);
        assert_eq!((scene.size(tell, 0), cu.call("cuLaunch", &[tell])), (0, 0));
        scene.expect(9, [1, 1, 1], [1, 1], 0);
        let mut again = 0u64;
        let mut module = 0u64;
        assert_eq!(cu.call("cuModuleLoadData", &[at(&mut module), KERNELS.as_ptr() as u64]), 0);
        assert_eq!(cu.call("cuModuleGetFunction", &[at(&mut again), module, c"tell".as_ptr() as u64]), 0);
        assert_eq!(cu.call("cuLaunch", &[again]), 0);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), ILLEGAL_ADDRESS);
    });
}

#[test]
fn what_cannot_be_launched() {
    alone("what_cannot_be_launched", &[], || {
        let scene = Scene::new();
        let (cu, tell, nothing) = (&scene.cu, scene.tell, scene.nothing);
        // A block has one thread at first, and arguments are zeros.
        assert_eq!(cu.call("cuLaunch", &[nothing]), 0);
        // As with a packed block: fewer bytes are taken, more are not.
        scene.fill(tell, 5);
        assert_eq!((scene.size(tell, 28), cu.call("cuLaunch", &[tell])), (0, OUT_OF_RESOURCES));
        assert_eq!((scene.size(tell, 12), cu.call("cuLaunch", &[tell])), (0, 0));
        assert_eq!(scene.told()[..4], [5, 0, 0, 0]);
        scene.fill(tell, 5);
        for (width, height) in [(0, 1), (1, 0), (-1, 1), (1, -1), (1, 65536)] {
            let grid = [tell, width as u32 as u64, height as u32 as u64];
            assert_eq!(cu.call("cuLaunchGrid", &grid), INVALID_VALUE, "{width} {height}");
        }
        // What was refused is not set.
        assert_eq!((scene.block(tell, [1024, 2, 1]), cu.call("cuLaunch", &[tell])), (INVALID_VALUE, 0));
        scene.expect(5, [1, 1, 1], [1, 1], 0);
        assert_eq!(cu.call("cuModuleUnload", &[scene.module]), 0);
        assert_eq!(
            (scene.block(tell, [1, 1, 1]), cu.call("cuLaunch", &[tell])),
            (INVALID_HANDLE, INVALID_HANDLE)
        );
    });
}
