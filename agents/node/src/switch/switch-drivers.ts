import { switchBmv2 } from '../drivers/switch-bmv2/switch-bmv2.js';
import type { SwitchDriverKind } from '../drivers/switch-driver.js';
import { switchOvs } from '../drivers/switch-ovs/switch-ovs.js';
import { switchP4 } from '../drivers/switch-p4/switch-p4.js';

export const SWITCH_DRIVERS: readonly SwitchDriverKind[] = [switchOvs, switchP4, switchBmv2];
