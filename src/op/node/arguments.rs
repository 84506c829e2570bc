//! The arguments of a kernel node, as they are remembered.

use super::rebind::Rebinding;
use crate::driver::calls::kernel::launch::RawArguments;
use crate::kernel::Parameter;
use crate::op::Arguments;
use crate::op::operand::Operand;
use smallvec::SmallVec;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::{Arc, Weak};

/// The arguments of a kernel node: their bytes, and the objects among them, which they know and do not hold.
#[derive(Default)]
pub struct KeptArguments {
    /// A [`Place`] for each, and behind these the bytes of all: each argument at a multiple of eight; a block just as it was given.
    data: SmallVec<[u64; INLINE]>,
    /// How many places there are; of a block those of the kernel's parameters, if the driver tells them.
    count: u32,
    /// The bytes of the block, if they were given as one.
    block: Option<u32>,
    /// Whether they are somebody else's, and the driver does not tell them: then none are listed.
    is_untold: bool,
    /// Whether one was the number of a condition when it was given.
    has_conditions: bool,
    /// The objects among them.
    objects: SmallVec<[(u32, Weak<dyn Operand>); 2]>,
    /// The names of parameters, and of which arguments: most have none.
    names: Option<Box<ParameterNames>>,
}

#[derive(Default, Clone)]
struct ParameterNames(Vec<(u32, Arc<str>)>);

impl ParameterNames {
    fn some(names: Vec<(u32, Arc<str>)>) -> Option<Box<Self>> {
        (!names.is_empty()).then(|| Box::new(Self(names)))
    }
}

/// The words that are kept without allocating: four arguments of at most eight bytes.
const INLINE: usize = 8;

/// How many arguments the driver is told of without allocating.
const FEW: usize = 16;

/// Where an argument stands among the bytes, in one word.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
struct Place {
    offset: u32,
    size: u32,
}

impl KeptArguments {
    /// Those of a launch.
    ///
    /// # Safety
    /// Each argument has as many bytes as it says.
    pub(super) unsafe fn of(arguments: &Arguments<'_>) -> Self {
        let mut kept = Self::default();
        // SAFETY: as the caller vouches.
        unsafe { kept.add(arguments) };
        kept
    }

    /// Adds those of a launch, where there are none yet.
    ///
    /// # Safety
    /// As for [`of`](Self::of).
    #[inline]
    pub(super) unsafe fn add(&mut self, arguments: &Arguments<'_>) {
        let sizes = arguments.sizes().iter().map(|size| *size as usize);
        // SAFETY: the caller vouches for the bytes.
        unsafe { self.fill(arguments.addresses().iter().map(|address| address.cast()).zip(sizes)) };
        if !arguments.names().is_empty() {
            self.names.get_or_insert_default().0.extend_from_slice(arguments.names());
        }
        self.has_conditions |= arguments.has_conditions();
        for (index, held) in arguments.objects() {
            self.objects.push((*index, held.downgrade()));
        }
    }

    /// The driver's copies of a node's arguments, an address for each parameter of the kernel; untold if it tells no layout (before
    /// CUDA 12.4), or no addresses.
    ///
    /// # Safety
    /// `addresses` is NULL or has an address for each parameter, of as many bytes as that has.
    pub(super) unsafe fn of_driver(addresses: *const *const u8, layout: Option<&[Parameter]>) -> Self {
        let is_told = layout.is_some_and(|layout| layout.is_empty() || !addresses.is_null());
        let mut kept = Self { is_untold: !is_told, ..Self::default() };
        if let Some(layout) = layout.filter(|layout| !layout.is_empty() && is_told) {
            // SAFETY: as the caller vouches.
            unsafe {
                let addresses = std::slice::from_raw_parts(addresses, layout.len());
                kept.fill(addresses.iter().copied().zip(layout.iter().map(|parameter| parameter.size)));
            }
        }
        kept
    }

    /// A block of all arguments, laid out as the kernel has its parameters.
    pub(super) fn of_block(block: &[u8], layout: Option<&[Parameter]>) -> Self {
        let layout = layout.unwrap_or_default();
        let mut kept = Self { block: Some(block.len() as u32), ..Self::default() };
        // SAFETY: the places of the parameters, and then as many words as the block fills.
        unsafe {
            let (places, words) = kept.make_room(layout.len(), block.len().div_ceil(8));
            for (index, parameter) in layout.iter().enumerate() {
                places
                    .add(index)
                    .write(Place { offset: parameter.offset as u32, size: parameter.size as u32 });
            }
            copy(block.as_ptr(), words, block.len());
        }
        kept
    }

    /// Takes arguments in, where there are none yet.
    ///
    /// # Safety
    /// Each address is good for reads of as many bytes.
    #[inline]
    unsafe fn fill(&mut self, values: impl ExactSizeIterator<Item = (*const u8, usize)> + Clone) {
        let all = values.clone().map(|(_, size)| size.div_ceil(8)).sum();
        // SAFETY: a place for each, and then the words of all; the caller vouches for the bytes.
        unsafe {
            let (places, words) = self.make_room(values.len(), all);
            let mut start = 0;
            for (index, (address, size)) in values.enumerate() {
                places.add(index).write(Place { offset: start as u32 * 8, size: size as u32 });
                copy(address, words.add(start), size);
                start += size.div_ceil(8);
            }
        }
    }

    /// Where so many places are to be written, and behind them so many words; there are none yet.
    ///
    /// # Safety
    /// They are written before they are looked at.
    #[inline(always)]
    unsafe fn make_room(&mut self, places: usize, words: usize) -> (*mut Place, *mut u64) {
        if places + words > INLINE {
            self.data = SmallVec::with_capacity(places + words);
        }
        self.count = places as u32;
        // SAFETY: there is room for so many; the caller vouches that they are written.
        unsafe {
            self.data.set_len(places + words);
            let start = self.data.as_mut_ptr();
            (start.cast(), start.add(places))
        }
    }

    #[inline]
    fn places(&self) -> &[Place] {
        // SAFETY: so many places stand at the start.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), self.count as usize) }
    }

    /// Puts the one argument of others in place of one of these, which has the same size, and this one there instead.
    pub(super) fn exchange(&mut self, index: usize, other: &mut Self) {
        let Place { offset, size } = self.places()[index];
        let (offset, size) = (offset as usize, size as usize);
        self.all_mut()[offset..offset + size].swap_with_slice(&mut other.all_mut()[..size]);
        self.has_conditions |= other.has_conditions;
        if !(self.is_plain() && other.is_plain()) {
            let names = std::mem::take(&mut self.names).map_or_else(Vec::new, |names| names.0);
            let others = std::mem::take(&mut other.names).map_or_else(Vec::new, |names| names.0);
            let (own, mut new): (Vec<_>, Vec<_>) =
                names.into_iter().partition(|(of, _)| *of as usize == index);
            new.extend(others.into_iter().map(|(_, name)| (index as u32, name)));
            (self.names, other.names) = (ParameterNames::some(new), ParameterNames::some(own));
            let (own, new) = self.objects.drain(..).partition(|(of, _)| *of as usize == index);
            self.objects = new;
            self.objects.extend(other.objects.drain(..).map(|(_, object)| (index as u32, object)));
            other.objects = own;
        }
    }

    /// Whether all are values, and none has a name.
    #[inline]
    fn is_plain(&self) -> bool {
        self.names.is_none() && self.objects.is_empty()
    }

    /// Whether one is a value, and has no name.
    #[inline]
    pub(super) fn is_value(&self, index: usize) -> bool {
        !self.names().iter().any(|(of, _)| *of as usize == index)
            && !self.objects.iter().any(|(of, _)| *of as usize == index)
    }

    /// The bytes of one, to be changed; `None` if there are not so many.
    #[inline]
    pub(super) fn bytes_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let Place { offset, size } = *self.places().get(index)?;
        self.all_mut().get_mut(offset as usize..offset as usize + size as usize)
    }

    /// Whether there may be others, of which the driver says nothing.
    pub(super) fn are_untold(&self) -> bool {
        self.is_untold
    }

    /// How many there are; of a block, as many as the driver tells of the kernel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether one is the condition with this number.
    pub(crate) fn has_condition(&self, number: u64) -> bool {
        let is_it = |index| self.bytes(index) == Some(&number.to_ne_bytes());
        self.has_conditions && (0..self.len()).any(is_it)
    }

    /// The bytes of one; `None` if there are not so many.
    #[must_use]
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        let Place { offset, size } = *self.places().get(index)?;
        self.all().get(offset as usize..offset as usize + size as usize)
    }

    /// The number of bytes of one; 0 if there are not so many.
    pub(crate) fn size(&self, index: u32) -> u32 {
        self.places().get(index as usize).map_or(0, |place| place.size)
    }

    /// The name of the parameter that one is, if it is one.
    #[must_use]
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names().iter().find(|(of, _)| *of as usize == index).map(|(_, name)| name.as_ref())
    }

    /// The names of parameters, and of which arguments.
    #[inline]
    pub(crate) fn names(&self) -> &[(u32, Arc<str>)] {
        self.names.as_ref().map_or(&[], |names| &names.0)
    }

    /// Gives an argument another value, of as many bytes, and appends the one before.
    #[inline]
    pub(super) fn set_value(&mut self, index: u32, value: &[u8], before: &mut Vec<u8>) {
        let known = self.bytes_mut(index as usize).filter(|known| known.len() == value.len());
        debug_assert!(known.is_some(), "whoever gives a value knows how many bytes it has");
        if let Some(known) = known {
            before.extend_from_slice(known);
            known.copy_from_slice(value);
        }
    }

    /// The objects among them.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Weak<dyn Operand>> {
        self.objects.iter().map(|(_, object)| object)
    }

    /// The block, if all were given as one.
    #[must_use]
    pub fn block(&self) -> Option<&[u8]> {
        self.block.map(|bytes| &self.all()[..bytes as usize])
    }

    /// The object of which one is the address, if it is such a one's that is still there: `object::<Buffer>(0)`.
    #[must_use]
    pub fn object<T: Any + Send + Sync>(&self, index: usize) -> Option<Arc<T>> {
        let (_, object) = self.objects.iter().find(|(of, _)| *of as usize == index)?;
        let object: Arc<dyn Any + Send + Sync> = object.upgrade()?;
        object.downcast().ok()
    }

    /// Puts one object in place of another, from the same offset on; answers with the arguments that it changed.
    #[inline]
    pub(super) fn rebind(&mut self, rebinding: &Rebinding<'_>, changed: &mut Vec<u32>) {
        let Self { data, count, objects, .. } = self;
        for (index, object) in objects.iter_mut().filter(|(_, object)| rebinding.is_from(object)) {
            *object = rebinding.to();
            move_pointer(data, *count, *index, |address| rebinding.moved(address));
            changed.push(*index);
        }
    }

    /// Undoes that for these arguments.
    pub(super) fn unbind(&mut self, rebinding: &Rebinding<'_>, changed: &[u32]) {
        let Self { data, count, objects, .. } = self;
        for (index, object) in objects.iter_mut().filter(|(index, _)| changed.contains(index)) {
            *object = rebinding.from();
            move_pointer(data, *count, *index, |address| rebinding.moved_back(address));
        }
    }

    #[inline]
    fn all(&self) -> &[u8] {
        let words = &self.data.as_slice()[self.count as usize..];
        // SAFETY: words have no padding, and as many bytes.
        unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
    }

    fn all_mut(&mut self) -> &mut [u8] {
        let words = &mut self.data[self.count as usize..];
        // SAFETY: words have no padding, and as many bytes, any of which is good.
        unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
    }

    /// The arguments as the driver takes them.
    #[inline(always)]
    pub(super) fn with_raw<R>(&self, call: impl FnOnce(RawArguments<'_>) -> R) -> R {
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        let many: Vec<_>;
        let (start, places) = (self.all().as_ptr(), self.places());
        // SAFETY: each stands among the words.
        let address = |place: &Place| unsafe { start.add(place.offset as usize) }.cast::<c_void>();
        call(if let Some(block) = self.block() {
            RawArguments::Packed(block)
        } else if places.len() > FEW {
            many = places.iter().map(address).collect();
            RawArguments::Each(&many)
        } else {
            for (to, place) in few.iter_mut().zip(places) {
                to.write(address(place));
            }
            // SAFETY: so many were written.
            RawArguments::Each(unsafe { std::slice::from_raw_parts(few.as_ptr().cast(), places.len()) })
        })
    }
}

/// Moves the pointer that is an argument, of so many.
#[inline(always)]
fn move_pointer(data: &mut [u64], count: u32, index: u32, to: impl FnOnce(u64) -> u64) {
    assert!(index < count, "an object is among the arguments");
    // In memory the offset of a place comes first, and so has the lower half of its word: the platforms are little-endian.
    let offset = data[index as usize] as u32;
    let word = &mut data[count as usize + offset as usize / 8];
    *word = to(*word);
}

/// Copies the bytes of an argument, and zeros to the end of the last word. Most are numbers, for which no function has to be called.
///
/// # Safety
/// `from` is good for reads of as many bytes, and `to` for writes of the words that they fill.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u64, size: usize) {
    // SAFETY: as the caller vouches.
    unsafe {
        match size {
            8 => to.write(from.cast::<u64>().read_unaligned()),
            // The first bytes of the word: the platforms are little-endian.
            4 => to.write(u64::from(from.cast::<u32>().read_unaligned())),
            0 => {}
            _ => {
                to.add(size.div_ceil(8) - 1).write(0);
                std::ptr::copy_nonoverlapping(from, to.cast(), size);
            }
        }
    }
}

impl Clone for KeptArguments {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            data: SmallVec::from_slice(&self.data),
            count: self.count,
            objects: if self.objects.is_empty() { SmallVec::new() } else { self.objects.clone() },
            names: self.names.clone(),
            block: self.block,
            is_untold: self.is_untold,
            has_conditions: self.has_conditions,
        }
    }
}

impl fmt::Debug for KeptArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..self.len()).map(|index| self.bytes(index))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of many sizes, none of whose bytes is 0.
    fn values(count: usize) -> Vec<Vec<u8>> {
        const SIZES: [usize; 7] = [8, 4, 0, 1, 3, 12, 20];
        (0..count).map(|index| vec![index as u8 + 1; SIZES[index % SIZES.len()]]).collect()
    }

    fn of(values: &[Vec<u8>]) -> KeptArguments {
        let mut kept = KeptArguments::default();
        // SAFETY: the bytes are there.
        unsafe { kept.fill(values.iter().map(|value| (value.as_ptr(), value.len()))) };
        kept
    }

    fn told(kept: &KeptArguments) -> Vec<Vec<u8>> {
        (0..kept.len()).map(|index| kept.bytes(index).unwrap().to_vec()).collect()
    }

    #[test]
    fn arguments_of_every_size_are_kept_with_zeros_behind() {
        for count in [0, 1, 4, 5, INLINE, 20, 100] {
            let values = values(count);
            let kept = of(&values);
            assert_eq!(told(&kept), values);
            assert_eq!(told(&kept.clone()), values);
            let words = values.iter().map(|value| value.len().div_ceil(8)).sum::<usize>();
            let zeros =
                values.iter().map(|value| value.len().next_multiple_of(8) - value.len()).sum::<usize>();
            assert_eq!(
                kept.all().iter().filter(|byte| **byte == 0).count(),
                zeros,
                "{count} arguments, {words} words"
            );
        }
    }

    #[test]
    fn one_is_exchanged_wherever_both_stand() {
        for (count, index) in [(1, 0), (4, 1), (20, 19)] {
            let before = values(count);
            let (mut kept, new) = (of(&before), vec![0xff; before[index].len()]);
            let mut other = of(std::slice::from_ref(&new));
            kept.exchange(index, &mut other);
            assert_eq!((kept.bytes(index), other.bytes(0)), (Some(&*new), Some(&*before[index])));
            kept.exchange(index, &mut other);
            assert_eq!(told(&kept), before);
        }
    }

    #[test]
    fn a_block_is_kept_as_it_was_given() {
        let layout = [Parameter { offset: 0, size: 4 }, Parameter { offset: 8, size: 13 }];
        let block: Vec<u8> = (1..=21).collect();
        let kept = KeptArguments::of_block(&block, Some(&layout));
        assert_eq!(kept.block(), Some(&*block));
        assert_eq!(told(&kept), [&block[..4], &block[8..]]);
        assert_eq!(KeptArguments::of_block(&block, None).block(), Some(&*block));
    }
}
