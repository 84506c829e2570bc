// One function of each translation unit, which include the same header: one throws errors, the other returns them.
#include <cushim.hpp>

// The status of a failed call, as the unit's form of the header says it; -1000 if the call succeeded.
cushim_status thrown(cushim_stream stream);
cushim_status returned(cushim_stream stream);
