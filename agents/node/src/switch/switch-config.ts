import { readFileSync } from 'node:fs';
import { Name } from '@orrery/contract';
import { z } from 'zod';
import type { SwitchDriver, SwitchDriverKind } from '../drivers/switch-driver.js';
import { firstIssue } from '../platform/first-issue.js';
import { SWITCH_DRIVERS } from './switch-drivers.js';

/** One switch that an agent serves. */
export interface ConfiguredSwitch {
  readonly node: string;
  readonly join_token: string | null;
  readonly kind: SwitchDriverKind;
  readonly driver: SwitchDriver;
}

const Common = z.looseObject({
  node: Name,
  driver: z.string(),
  join_token: z.string().min(1).max(200).optional(),
});

/**
 * Reads the file of `--switches`: a list of `{node, driver, join_token?, ...}`. Throws an error that names the bad
 * field.
 */
export function readSwitches(path: string): ConfiguredSwitch[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`);
  }
  if (!Array.isArray(content) || content.length === 0) throw new Error(`${path}: must be a list of switches`);
  const switches = content.map((one, index) => readSwitch(one, `${path}: /${index}`));
  const names = switches.map(({ node }) => node);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`${path}: ${twice} appears twice`);
  return switches;
}

function readSwitch(content: unknown, at: string): ConfiguredSwitch {
  const common = Common.safeParse(content);
  if (!common.success) throw new Error(at + firstIssue(common.error));
  const { node, driver, join_token, ...rest } = common.data;
  const kind = SWITCH_DRIVERS.find((one) => one.kind === driver);
  if (!kind) throw new Error(`${at}/driver: must be ${SWITCH_DRIVERS.map((one) => one.kind).join(' or ')}`);
  const config = kind.config.safeParse(rest);
  if (!config.success) throw new Error(at + firstIssue(config.error));
  return { node, join_token: join_token ?? null, kind, driver: kind.make(config.data) };
}
