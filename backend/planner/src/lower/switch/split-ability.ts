import {
  DIRECT_ATTRIBUTES,
  type DirectAttribute,
  type FlowKey,
  type Infrastructure,
  type SwitchAbilities,
} from '@orrery/contract';
import type { UnableSwitches } from '../../igraph/front-splits.js';
import { ASSUMED_ABILITIES } from './abilities.js';
import { switchPlaces } from './topology.js';

/** The fields by which a switch tells flows apart: without a key all that it knows. */
export function hashedFields(key: FlowKey): readonly DirectAttribute[] {
  return key.length > 0 ? key : DIRECT_ATTRIBUTES;
}

/** Whether it matches ranges of the flow hash of the key (E2 3.4.4). */
export function splitsByRanges(
  { hashes = [], match, keep_flows }: SwitchAbilities,
  key: FlowKey,
  keep: boolean,
): boolean {
  const hashed = hashedFields(key);
  const computes = hashes.some(
    (fields) => fields.length === hashed.length && fields.every((it) => hashed.includes(it)),
  );
  const ranges = match.flow_id !== undefined && match.flow_id.kind !== 'exact';
  return computes && ranges && match.split !== undefined && (!keep || keep_flows === true);
}

/** Whether a select group of it hashes the key: it keeps no flow in progress. */
export function splitsByGroup({ groups }: SwitchAbilities, key: FlowKey): boolean {
  return hashedFields(key).every((field) => groups.select.includes(field));
}

/**
 * Of the switches with a host of a class those that cannot share out its flows, by the abilities that they have reported; also those
 * that would with a group where others know the flow hash: the two hash differently, and equal keys must meet one instance.
 */
export function unableSwitches(
  infrastructure: Infrastructure,
  abilitiesOf: ReadonlyMap<string, SwitchAbilities>,
): UnableSwitches {
  return ({ definition }, _node, key, keep) => {
    const { from } = definition.traffic_class;
    const entered = switchPlaces(infrastructure)
      .filter(({ attached }) => attached.some(({ endpoint }) => from.includes(endpoint.node)))
      .map(({ id }) => ({ id, abilities: abilitiesOf.get(id) ?? ASSUMED_ABILITIES }));
    const withoutHash = entered.filter(({ abilities }) => !splitsByRanges(abilities, key, keep));
    const mixed = withoutHash.length < entered.length;
    return withoutHash.flatMap(({ id, abilities }) => (!keep && !mixed && splitsByGroup(abilities, key) ? [] : [id]));
  };
}
