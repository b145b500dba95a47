// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "nfs/ids/rule.h"

namespace orrery::ids {

// Rules of an IDS whose configuration names none; the same list is in descriptor.json.
inline std::vector<IdsRule> default_ids_rules() {
  return {
      {"path-traversal", "../../", false, true},
      {"etc-passwd", "/etc/passwd", false, true},
      {"sql-union-select", R"(union(\s|\+|%20|/\*.{0,40}\*/)+(all(\s|\+|%20)+)?select)", true, true},
      {"sql-or-true", R"(('|%27)(\s|\+|%20)*or(\s|\+|%20)+1(\s|\+|%20)*(=|%3d)(\s|\+|%20)*1)", true, true},
      {"sql-drop-table", R"(;(\s|\+|%20)*drop(\s|\+|%20)+table)", true, true},
      {"xss-script", R"((<|%3c)script)", true, true},
      {"xss-handler", R"(onerror(\s|\+|%20)*=)", true, true},
      {"shellshock", R"(\(\)\s*\{\s*:?;?\s*\}\s*;)", true, false},
      {"log4shell", R"(\$\{jndi:(ldap|ldaps|rmi|dns|iiop)://)", true, true},
      {"shell-command", R"((;|\||%3b|%7c)(\s|\+|%20)*(cat|wget|curl|nc|bash)(\s|\+|%20))", true, true},
      {"php-wrapper", R"(php://(input|filter))", true, true},
      {"windows-cmd", "cmd.exe", false, true},
  };
}

}  // namespace orrery::ids
