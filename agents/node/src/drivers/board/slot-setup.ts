import { setTimeout as sleep } from 'node:timers/promises';
import type { InstanceSpec } from '@orrery/contract';
import { BoardError, type BoardPort, type RegisterWrite } from './board-port.js';
import { at, field, word } from './fields.js';
import { identityOf, idText, versionText } from './module-names.js';
import type { ModuleAdapter } from './modules/module-adapter.js';
import { BOARD_MODULES, COMMON_REGISTERS } from './registers.js';

const { ID, VERSION, CONTROL, STATUS } = COMMON_REGISTERS;
const SHELL = BOARD_MODULES.nf_shell.registers;
const CLASSES = [SHELL.METADATA_VALUE_0, SHELL.METADATA_VALUE_1, SHELL.METADATA_VALUE_2, SHELL.METADATA_VALUE_3];
const CLEAR_LIMIT_MS = 2000;

/** Rejects unless the slot holds exactly this module, in the version whose registers this agent knows. */
export async function verifyModule(port: BoardPort, slot: number, module: string): Promise<void> {
  const known = identityOf(module);
  if (!known) throw new BoardError(`no registers of the module ${module} are known here`, 'refused');
  const [id, version] = await port.readRegisters(slot, [ID.address, VERSION.address]);
  if (id !== known.id)
    throw new BoardError(
      `slot ${slot} answers as ${idText(id!)} and not as ${idText(known.id)} (${module})`,
      'refused',
    );
  if (versionText(version!) !== known.version)
    throw new BoardError(`slot ${slot} holds ${module} ${versionText(version!)}, known is ${known.version}`, 'refused');
}

/** Clears tables, counters and events of a module that holds no frame; `awaitCleared` waits until it is done. */
export async function clear(port: BoardPort, slot: number): Promise<void> {
  await port.writeRegisters(slot, [[CONTROL.address, word(CONTROL, { CLEAR: 1 })]]);
}

/** After a reset the module clears its tables; writes to them in the meantime are lost. */
export async function awaitCleared(port: BoardPort, slot: number): Promise<void> {
  const deadline = performance.now() + CLEAR_LIMIT_MS;
  for (;;) {
    const [status] = await port.readRegisters(slot, [STATUS.address]);
    if (field(STATUS.fields.CLEARING, status!) === 0) return;
    if (performance.now() > deadline) throw new BoardError(`slot ${slot} did not finish clearing its tables`, 'failed');
    await sleep(5);
  }
}

export async function enable(port: BoardPort, slot: number): Promise<void> {
  await port.writeRegisters(slot, [[CONTROL.address, word(CONTROL, { ENABLE: 1 })]]);
}

/** Where in the metadata word the shell writes the class of a frame; nowhere if the plan needs no attribute from it. */
export function metadataWrites(
  slot: number,
  { attribute }: ModuleAdapter,
  metadata: InstanceSpec['metadata'],
): RegisterWrite[] {
  const place = attribute && metadata[attribute.name];
  const mask = place ? (2 ** place.width - 1) * 2 ** place.offset : 0;
  const values = [0, ...(attribute?.values ?? []).map((value) => place?.values[value] ?? 0)];
  return [
    [at(SHELL.METADATA_MASK, slot), mask],
    ...CLASSES.map((register, n): RegisterWrite => [at(register, slot), (values[n] ?? 0) * 2 ** (place?.offset ?? 0)]),
  ];
}
