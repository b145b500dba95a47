import { z } from 'zod';
import { Name } from './common.js';
import { type Infrastructure, SwitchNode } from './infrastructure.js';

export const SwitchDriver = SwitchNode.shape.driver;
export type SwitchDriver = z.infer<typeof SwitchDriver>;

/** What drivers are called for people. */
export const SWITCH_DRIVER_TITLES: Readonly<Record<SwitchDriver, string>> = {
  ovs: 'Open vSwitch',
  p4: 'P4, built in',
  bmv2: 'P4, BMv2',
};

/** The driver that a switch of the twin is to run. */
export const DriverChoice = z.strictObject({ switch: Name, driver: SwitchDriver });
export type DriverChoice = z.infer<typeof DriverChoice>;

/** What a plan or an operation changes for one switch. */
export const DriverChange = z.strictObject({ switch: Name, from: SwitchDriver, to: SwitchDriver });
export type DriverChange = z.infer<typeof DriverChange>;

/** The infrastructure with other drivers, the last one of each switch; one that it does not have is left out. */
export function withDrivers(
  infrastructure: Infrastructure,
  changes: readonly Pick<DriverChange, 'switch' | 'to'>[],
): Infrastructure {
  const wanted = new Map(changes.map((change) => [change.switch, change.to]));
  const switches = infrastructure.switches.map((node) => ({ ...node, driver: wanted.get(node.id) ?? node.driver }));
  return { ...infrastructure, switches };
}
