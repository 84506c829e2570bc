//! Options are structs with public fields, to which more are added; programs make them by methods of the fields' names.

/// Gives options a method for each field, which answers with the same options and another value there: `setters!(EventOptions { timing:
/// bool })`. Of an optional field the method takes the value: `=> Some`.
macro_rules! setters {
    ($(<$life:lifetime>)? $type:ident { $($field:ident: $value:ty $(=> $wrap:path)?),+ $(,)? }) => {
        impl $(<$life>)? $type $(<$life>)? {
            $(
                #[doc = concat!("The same with another `", stringify!($field), "`; the field of this name says what it means.")]
                #[inline]
                #[must_use]
                pub fn $field(mut self, $field: $value) -> Self {
                    self.$field = $crate::object::setters::setters!(@ $field $($wrap)?);
                    self
                }
            )+
        }
    };
    (@ $value:ident) => { $value };
    (@ $value:ident $wrap:path) => { $wrap($value) };
}
pub(crate) use setters;
