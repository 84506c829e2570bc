//! The arguments of a kernel node, as they are remembered.

use super::rebind::Rebinding;
use crate::driver::calls::kernel::launch::RawArguments;
use crate::kernel::Parameter;
use crate::object::handle::Shared;
use crate::op::Arguments;
use crate::op::operand::Operand;
use smallvec::SmallVec;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// The arguments of a kernel node: their bytes, and the objects among them, which they know and do not hold.
#[derive(Clone, Default)]
pub struct KeptArguments {
    /// The bytes of few arguments of at most eight bytes each, with zeros to the end of each word. Others are in `more`.
    words: [u64; FEW],
    /// The first object among them.
    object: Option<Weak<dyn Operand>>,
    /// What most have not.
    more: Option<Box<More>>,
    /// How many of each word are the argument's.
    sizes: [u8; FEW],
    /// Which argument the object is.
    object_at: u16,
    /// How many there are, if they stand here.
    count: u8,
}

/// An argument that is the address of an object.
type Named = (u32, Weak<dyn Operand>);

/// What the arguments of few nodes have.
#[derive(Clone, Default)]
struct More {
    /// If there are more than few, larger ones or a block: for each where it stands ([`packed`]), and behind that the words of all. An
    /// argument begins a word; a block is as it was given.
    data: Option<Box<[u64]>>,
    /// How many there are then; of a block as many as the kernel has parameters, if the driver tells them.
    count: usize,
    /// The bytes of the block, if they were given as one.
    block: Option<u32>,
    /// Whether they are somebody else's, and the driver does not tell them: then none are listed.
    is_untold: bool,
    /// Whether one was the number of a condition when it was given.
    has_conditions: bool,
    /// The objects after the first.
    objects: Vec<Named>,
    /// The names of parameters, and of which arguments.
    names: Vec<(u32, Arc<str>)>,
}

/// How many arguments stand in the record of their node.
const FEW: usize = 4;

/// How many arguments the driver is told of without allocating.
const TOLD: usize = 16;

/// Where an argument stands among the bytes, in one word.
fn packed(offset: usize, size: usize) -> u64 {
    offset as u64 | (size as u64) << 32
}

fn unpacked(place: u64) -> Range<usize> {
    let offset = place as u32 as usize;
    offset..offset + (place >> 32) as usize
}

/// A value of at most eight bytes, and zeros behind. Most are numbers, for which no function has to be called.
///
/// # Safety
/// The address is good for reads of as many bytes.
#[inline(always)]
unsafe fn word(address: *const u8, size: usize) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    // SAFETY: as the caller vouches.
    unsafe {
        match size {
            8 => bytes = address.cast::<[u8; 8]>().read(),
            4 => bytes[..4].copy_from_slice(&address.cast::<[u8; 4]>().read()),
            0 => {}
            _ => bytes[..size].copy_from_slice(std::slice::from_raw_parts(address, size)),
        }
    }
    u64::from_ne_bytes(bytes)
}

/// Where each of many arguments stands, and behind that the words of all.
///
/// # Safety
/// Each address is good for reads of as many bytes.
#[cold]
unsafe fn many(values: impl ExactSizeIterator<Item = (*const u8, usize)> + Clone) -> Box<[u64]> {
    let count = values.len();
    let words: usize = values.clone().map(|(_, size)| size.div_ceil(8)).sum();
    let mut data = vec![0; count + words];
    let (places, words) = data.split_at_mut(count);
    let (bytes, mut start) = (bytes_mut(words), 0);
    for (place, (address, size)) in places.iter_mut().zip(values) {
        *place = packed(start, size);
        if size > 0 {
            // SAFETY: as the caller vouches.
            let value = unsafe { std::slice::from_raw_parts(address, size) };
            bytes[start..start + size].copy_from_slice(value);
        }
        start += size.next_multiple_of(8);
    }
    data.into()
}

fn bytes(words: &[u64]) -> &[u8] {
    // SAFETY: words have no padding, and as many bytes.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn bytes_mut(words: &mut [u64]) -> &mut [u8] {
    // SAFETY: words have no padding, and as many bytes, any of which is good.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

impl KeptArguments {
    /// Those of a launch.
    ///
    /// # Safety
    /// Each argument has as many bytes as it says.
    #[inline]
    pub(super) unsafe fn of(arguments: &Arguments<'_>) -> Self {
        let addresses = arguments.addresses().iter().map(|address| address.cast());
        let sizes = arguments.sizes().iter().map(|size| *size as usize);
        // SAFETY: as the caller vouches.
        let mut kept = unsafe { Self::of_values(addresses.zip(sizes)) };
        if arguments.has_conditions() || !arguments.names().is_empty() {
            let more = kept.more_mut();
            more.has_conditions = arguments.has_conditions();
            more.names.extend_from_slice(arguments.names());
        }
        for (index, held) in arguments.objects() {
            kept.push_object((*index, held.downgrade()));
        }
        kept
    }

    /// # Safety
    /// Each address is good for reads of as many bytes.
    #[inline]
    unsafe fn of_values(values: impl ExactSizeIterator<Item = (*const u8, usize)> + Clone) -> Self {
        if values.len() > FEW || values.clone().any(|(_, size)| size > size_of::<u64>()) {
            let count = values.len();
            // SAFETY: as the caller vouches.
            return Self::in_more(More { data: Some(unsafe { many(values) }), count, ..More::default() });
        }
        let mut kept = Self { count: values.len() as u8, ..Self::default() };
        for (index, (address, size)) in values.enumerate() {
            // SAFETY: as the caller vouches.
            kept.words[index] = unsafe { word(address, size) };
            kept.sizes[index] = size as u8;
        }
        kept
    }

    fn in_more(more: More) -> Self {
        Self { more: Some(Box::new(more)), ..Self::default() }
    }

    fn more_mut(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    /// The places and words of arguments that do not stand here.
    #[inline]
    fn data(&self) -> Option<&[u64]> {
        self.more.as_ref()?.data.as_deref()
    }

    #[inline]
    fn push_object(&mut self, (at, object): Named) {
        match (u16::try_from(at), &self.object) {
            (Ok(at), None) => (self.object_at, self.object) = (at, Some(object)),
            _ => self.more_mut().objects.push((at, object)),
        }
    }

    /// The objects, and which arguments they are.
    #[inline]
    fn named(&self) -> impl Iterator<Item = (u32, &Weak<dyn Operand>)> {
        let more = self.more.iter().flat_map(|more| &more.objects);
        self.object
            .iter()
            .map(|object| (self.object_at.into(), object))
            .chain(more.map(|(at, object)| (*at, object)))
    }

    #[inline]
    fn named_mut(&mut self) -> impl Iterator<Item = (u32, &mut Weak<dyn Operand>)> {
        let (at, more) = (self.object_at.into(), self.more.iter_mut().flat_map(|more| &mut more.objects));
        self.object.iter_mut().map(move |object| (at, object)).chain(more.map(|(at, object)| (*at, object)))
    }

    /// The driver's copies of a node's arguments, an address for each parameter of the kernel; untold if it tells no layout (before
    /// CUDA 12.4), or no addresses.
    ///
    /// # Safety
    /// `addresses` is NULL or has an address for each parameter, of as many bytes as that has.
    pub(super) unsafe fn of_driver(addresses: *const *const u8, layout: Option<&[Parameter]>) -> Self {
        let Some(layout) = layout.filter(|layout| layout.is_empty() || !addresses.is_null()) else {
            return Self::in_more(More { is_untold: true, ..More::default() });
        };
        if layout.is_empty() {
            return Self::default();
        }
        // SAFETY: as the caller vouches.
        unsafe {
            let addresses = std::slice::from_raw_parts(addresses, layout.len());
            Self::of_values(addresses.iter().copied().zip(layout.iter().map(|parameter| parameter.size)))
        }
    }

    /// A block of all arguments, laid out as the kernel has its parameters.
    pub(super) fn of_block(block: &[u8], layout: Option<&[Parameter]>) -> Self {
        let layout = layout.unwrap_or_default();
        let mut data: Vec<u64> =
            layout.iter().map(|parameter| packed(parameter.offset, parameter.size)).collect();
        data.resize(layout.len() + block.len().div_ceil(8), 0);
        bytes_mut(&mut data[layout.len()..])[..block.len()].copy_from_slice(block);
        let block = Some(block.len() as u32);
        Self::in_more(More { data: Some(data.into()), count: layout.len(), block, ..More::default() })
    }

    /// Where one stands among the bytes; `None` if there are not so many.
    #[inline]
    fn place(&self, index: usize) -> Option<Range<usize>> {
        if index >= self.len() {
            return None;
        }
        Some(match self.data() {
            None => index * 8..index * 8 + usize::from(self.sizes[index]),
            Some(data) => unpacked(data[index]),
        })
    }

    /// The bytes of all.
    #[inline]
    fn all(&self) -> &[u8] {
        bytes(self.data().map_or(&self.words[..], |data| &data[self.len()..]))
    }

    /// Puts the one argument of others in place of one of these, which has the same size.
    pub(super) fn replace(&mut self, index: usize, other: Self) {
        if let (Some(own), Some(new)) = (self.bytes_mut(index), other.bytes(0)) {
            own.copy_from_slice(new);
        }
        let number = index as u32;
        let more = self.more.as_mut().map(|more| std::mem::take(&mut more.objects));
        let first = self.object.take().map(|object| (self.object_at.into(), object));
        let others = first.into_iter().chain(more.unwrap_or_default()).filter(|(of, _)| *of != number);
        let new = other.named().map(|(_, object)| (number, Weak::clone(object)));
        others.chain(new).for_each(|object| self.push_object(object));
        if self.more.is_none() && other.more.is_none() {
            return;
        }
        let more = self.more_mut();
        more.has_conditions |= other.has_conditions();
        more.names.retain(|(of, _)| *of != number);
        more.names.extend(other.names().iter().map(|(_, name)| (number, Arc::clone(name))));
    }

    fn has_conditions(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.has_conditions)
    }

    /// Whether one is a value, and has no name.
    #[inline]
    pub(super) fn is_value(&self, index: usize) -> bool {
        !self.names().iter().any(|(of, _)| *of as usize == index)
            && !self.named().any(|(of, _)| of as usize == index)
    }

    /// The bytes of one, to be changed; `None` if there are not so many.
    #[inline]
    pub(super) fn bytes_mut(&mut self, index: usize) -> Option<&mut [u8]> {
        let (place, count) = (self.place(index)?, self.len());
        let data = self.more.as_mut().and_then(|more| more.data.as_mut());
        bytes_mut(data.map_or(&mut self.words[..], |data| &mut data[count..])).get_mut(place)
    }

    /// Whether there may be others, of which the driver says nothing.
    pub(super) fn are_untold(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.is_untold)
    }

    /// How many there are; of a block, as many as the driver tells of the kernel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.more.as_ref().filter(|more| more.data.is_some()).map_or(self.count.into(), |more| more.count)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one is the condition with this number.
    pub(crate) fn has_condition(&self, number: u64) -> bool {
        let is_it = |index| self.bytes(index) == Some(&number.to_ne_bytes());
        self.has_conditions() && (0..self.len()).any(is_it)
    }

    /// The bytes of one; `None` if there are not so many.
    #[must_use]
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.all().get(self.place(index)?)
    }

    /// The number of bytes of one; 0 if there are not so many.
    pub(crate) fn size(&self, index: u32) -> u32 {
        self.place(index as usize).map_or(0, |place| place.len() as u32)
    }

    /// The name of the parameter that one is, if it is one.
    #[must_use]
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names().iter().find(|(of, _)| *of as usize == index).map(|(_, name)| name.as_ref())
    }

    /// The names of parameters, and of which arguments.
    #[inline]
    pub(crate) fn names(&self) -> &[(u32, Arc<str>)] {
        self.more.as_ref().map_or(&[], |more| &more.names)
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
        self.named().map(|(_, object)| object)
    }

    /// The block, if all were given as one.
    #[must_use]
    pub fn block(&self) -> Option<&[u8]> {
        let bytes = self.more.as_ref()?.block?;
        Some(&self.all()[..bytes as usize])
    }

    /// The object of which one is the address, if it is one of this type that is still there.
    pub(crate) fn object<H: Shared>(&self, index: usize) -> Option<H> {
        let (_, object) = self.named().find(|(of, _)| *of as usize == index)?;
        let object: Arc<dyn Any + Send + Sync> = object.upgrade()?;
        object.downcast().ok().map(H::of)
    }

    /// What the program calls the object of which one is the address.
    pub(super) fn object_name(&self, index: usize) -> Option<String> {
        let (_, object) = self.named().find(|(of, _)| *of as usize == index)?;
        object.upgrade().map(|object| object.to_string())
    }

    /// Puts one object in place of another, from the same offset on; answers with the arguments that it changed.
    #[inline]
    pub(super) fn rebind(&mut self, rebinding: &Rebinding<'_>, changed: &mut Vec<u32>) {
        let known = changed.len();
        for (index, object) in self.named_mut().filter(|(_, object)| rebinding.is_from(object)) {
            *object = rebinding.to();
            changed.push(index);
        }
        for index in &changed[known..] {
            self.move_pointer(*index as usize, |address| rebinding.moved(address));
        }
    }

    /// Undoes that for these arguments.
    pub(super) fn unbind(&mut self, rebinding: &Rebinding<'_>, changed: &[u32]) {
        for (_, object) in self.named_mut().filter(|(index, _)| changed.contains(index)) {
            *object = rebinding.from();
        }
        for index in changed {
            self.move_pointer(*index as usize, |address| rebinding.moved_back(address));
        }
    }

    /// Moves the pointer that is an argument.
    #[inline]
    fn move_pointer(&mut self, index: usize, to: impl FnOnce(u64) -> u64) {
        if let Some(pointer) = self.bytes_mut(index).and_then(|bytes| bytes.first_chunk_mut()) {
            *pointer = to(u64::from_ne_bytes(*pointer)).to_ne_bytes();
        }
    }

    /// The arguments as the driver takes them.
    #[inline(always)]
    pub(super) fn with_raw<R>(&self, call: impl FnOnce(RawArguments<'_>) -> R) -> R {
        if let Some(data) = self.data() {
            return self.with_many(data, call);
        }
        let addresses = self.words.each_ref().map(|word| std::ptr::from_ref(word).cast::<c_void>());
        call(RawArguments::Each(&addresses[..self.len()]))
    }

    fn with_many<R>(&self, data: &[u64], call: impl FnOnce(RawArguments<'_>) -> R) -> R {
        if let Some(block) = self.block() {
            return call(RawArguments::Packed(block));
        }
        let (places, words) = data.split_at(self.len());
        let addresses: SmallVec<[*const c_void; TOLD]> =
            places.iter().map(|place| bytes(words)[unpacked(*place)].as_ptr().cast()).collect();
        call(RawArguments::Each(&addresses))
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
        let each = values.iter().map(|value| (value.as_ptr(), value.len()));
        // SAFETY: the bytes are there.
        unsafe { KeptArguments::of_values(each) }
    }

    fn told(kept: &KeptArguments) -> Vec<Vec<u8>> {
        (0..kept.len()).map(|index| kept.bytes(index).unwrap().to_vec()).collect()
    }

    #[test]
    fn arguments_of_every_size_are_kept_with_zeros_behind() {
        for count in [0, 1, 4, 5, 8, 20, 100] {
            let values = values(count);
            let kept = of(&values);
            assert_eq!(told(&kept), values);
            assert_eq!(told(&kept.clone()), values);
            let own: usize = values.iter().map(Vec::len).sum();
            assert_eq!(kept.all().iter().filter(|byte| **byte != 0).count(), own, "{count} arguments");
            kept.with_raw(|raw| {
                let RawArguments::Each(addresses) = raw else { panic!("it is no block") };
                assert_eq!(addresses.len(), count);
                for (address, value) in addresses.iter().zip(&values) {
                    // SAFETY: the driver reads as many bytes there.
                    let there = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), value.len()) };
                    assert_eq!(there, value);
                }
            });
        }
    }

    #[test]
    fn few_numbers_stand_in_the_record() {
        let numbers = [vec![1; 8], vec![2; 4], vec![], vec![3; 3]];
        assert!(of(&numbers).more.is_none());
        assert!(of(&[vec![1; 9]]).data().is_some());
        assert!(size_of::<KeptArguments>() <= 64);
    }

    #[test]
    fn one_is_replaced_wherever_it_stands() {
        for (count, index) in [(1, 0), (4, 1), (20, 19)] {
            let before = values(count);
            let (mut kept, new) = (of(&before), vec![0xff; before[index].len()]);
            kept.replace(index, of(std::slice::from_ref(&new)));
            let mut now = before;
            now[index] = new;
            assert_eq!(told(&kept), now);
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
