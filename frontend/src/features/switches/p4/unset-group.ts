import {
  namedP4,
  type P4DefaultAction,
  type P4Entries,
  type P4Program,
  type P4Reading,
  p4Value,
} from '@orrery/contract';

const GROUP_BITS = 16;

/** The multicast group that an entry or a default action floods to although it is not set; null: none. */
export function unsetGroup(
  { action: name, params }: Pick<P4DefaultAction, 'action' | 'params'>,
  { content, floods }: Pick<P4Program, 'content' | 'floods'>,
  kept: P4Entries | undefined,
  reading: P4Reading | undefined,
): number | null {
  const action = namedP4(content.actions, name);
  const flood = floods.find((one) => one.action === action?.name);
  if (!kept || !flood) return null;
  const group = flood.param === undefined ? flood.group : numberIn(params[flood.param]);
  const isSet = [...kept.groups, ...(reading?.groups ?? [])].some(({ id }) => id === group);
  return group === undefined || group === 0 || isSet ? null : group;
}

function numberIn(text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : Number(p4Value(text, GROUP_BITS));
  } catch {
    return undefined;
  }
}
