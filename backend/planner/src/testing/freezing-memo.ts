import { Memo } from '../memo.js';

/** A memo that makes it an error to change a shared result later. */
export class FreezingMemo extends Memo {
  override get<T>(key: string, make: () => T, keep?: () => boolean): T {
    return super.get(key, () => frozen(make()), keep);
  }
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}
