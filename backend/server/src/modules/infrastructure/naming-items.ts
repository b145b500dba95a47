import type { FieldError, Infrastructure } from '@orrery/contract';

/** Errors of an infrastructure for who has not written it: each begins with the switch, server, host, board or link that it is of. */
export function namingItems(errors: readonly FieldError[], infrastructure: Infrastructure): readonly FieldError[] {
  return errors.map((error) => {
    const id = itemAt(error.pointer, infrastructure);
    return id === null ? error : { ...error, detail: `${id}: ${error.detail}` };
  });
}

function itemAt(pointer: string, infrastructure: Infrastructure): string | null {
  const [, list, index] = /^\/(servers|boards|switches|hosts|links)\/(\d+)/.exec(pointer) ?? [];
  return list ? (infrastructure[list as 'switches'][Number(index)]?.id ?? null) : null;
}
