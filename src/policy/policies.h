// Every policy of kimesh: one file, one line here and one in the table of policies.cpp.
#pragma once

#include "kimesh/policy/policy_options.h"

namespace kimesh {

Kind<PolicyOptions> none_policy();
Kind<PolicyOptions> fixed_policy();
Kind<PolicyOptions> kimad_policy();
Kind<PolicyOptions> kimad_plus_policy();
Kind<PolicyOptions> gravac_policy();

}  // namespace kimesh
