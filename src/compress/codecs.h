// Every codec of kimesh: one file, one line here and one in the table of codecs.cpp.
#pragma once

#include "kimesh/compress/codec.h"

namespace kimesh {

Kind<Codec> identity_codec();
Kind<Codec> topk_codec();
Kind<Codec> threshold_codec();
Kind<Codec> randk_codec();
Kind<Codec> dgc_codec();
Kind<Codec> redsync_codec();
Kind<Codec> sign_codec();
Kind<Codec> int8_codec();
Kind<Codec> int4_codec();
Kind<Codec> dzq_codec();

}  // namespace kimesh
