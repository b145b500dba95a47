import type { SwitchDriverKind } from '../drivers/switch-driver.js';
import { switchOvs } from '../drivers/switch-ovs/switch-ovs.js';

export const SWITCH_DRIVERS: readonly SwitchDriverKind[] = [switchOvs];
