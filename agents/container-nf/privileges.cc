// SPDX-License-Identifier: Apache-2.0
#include "container-nf/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace orrery::container_nf {
namespace {

// "nobody": owns no file of the host and none that a container is given.
constexpr uid_t kNobody = 65534;
constexpr gid_t kNogroup = 65534;

void require(bool done, const char* what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

void give_up_privileges() {
  if (geteuid() == 0) {
    require(setgroups(0, nullptr) == 0, "giving up root's groups");
    require(setresgid(kNogroup, kNogroup, kNogroup) == 0, "giving up root's group");
    require(setresuid(kNobody, kNobody, kNobody) == 0, "giving up root");
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  require(syscall(SYS_capset, &header, none) == 0, "giving up capabilities");
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "giving up new privileges");
#ifdef __SANITIZE_ADDRESS__
  // Whoever changes its user is closed to tracing, by which the sanitizer looks for leaks.
  prctl(PR_SET_DUMPABLE, 1);
#endif
}

}  // namespace orrery::container_nf
