// The release that this source is. The control file, META.json and the extension script agree with
// it; a lint compares them.
#pragma once

#define BELAY_VERSION "1.0.0"
