import { type Application, type ApplicationKindInfo, type Infrastructure, Name } from '@orrery/contract';
import { type FormField, formFields, groupField } from '../../shared/form/field-model.js';
import { asValues, newRow, type Values } from '../../shared/form/field-values.js';

/** The fields of a definition, those of its configuration from the schema of its kind. What there is cannot change kind or name. */
export function applicationFields(
  kinds: readonly ApplicationKindInfo[],
  { kind: chosen }: Values,
  isNew: boolean,
): FormField[] {
  const kind = kinds.find(({ id }) => id === chosen)!;
  const own = formFields({
    required: ['kind', 'id', 'node'],
    properties: {
      kind: { title: 'Kind', oneOf: kinds.map(({ id, title }) => ({ const: id, title })), readOnly: !isNew },
      id: { title: 'Name', type: 'string', readOnly: !isNew },
      node: { title: 'Node', reference: 'node' },
    },
  });
  const { title, description, runs_on, config_schema } = kind;
  const places = runs_on.map((place) => `${place}s`).join(', ');
  const group = { key: 'config', title, description: `${description} Runs on ${places}.` };
  return [...own, groupField(group, formFields(config_schema))];
}

export const valuesOf = ({ definition }: Application): Values => ({ ...definition });

/** A new application of the kind; fields that both kinds share are kept. */
export function ofKind(kind: ApplicationKindInfo, before: Values, taken: readonly string[]): Values {
  const fields = formFields(kind.config_schema);
  const { to, family } = asValues(before.config);
  const kept = Object.entries({ to, family }).filter(
    ([key, value]) => value !== undefined && fields.some((each) => each.key === key),
  );
  const usual = Object.entries(newRow(fields)).filter(([, value]) => value !== null && value !== '');
  return {
    id: freeId(kind.id, taken),
    kind: kind.id,
    node: before.node ?? '',
    enabled: true,
    config: Object.fromEntries([...usual, ...kept]),
  };
}

/** A new application of the kind, with the given node and configuration where the kind has such fields. */
export function startOf(
  kind: ApplicationKindInfo,
  start: { readonly node: string; readonly config: Values } | undefined,
  taken: readonly string[],
): Values {
  const made = ofKind(kind, { node: start?.node, config: start?.config }, taken);
  const known = formFields(kind.config_schema).map(({ key }) => key);
  const given = Object.entries(start?.config ?? {}).filter(([key]) => known.includes(key));
  return { ...made, config: { ...asValues(made.config), ...Object.fromEntries(given) } };
}

/** `http-client-2` */
export function freeId(kind: string, taken: readonly string[]): string {
  for (let number = 1; ; number++) if (!taken.includes(`${kind}-${number}`)) return `${kind}-${number}`;
}

/** Nodes on which the kind can run. */
export function nodesFor({ runs_on }: ApplicationKindInfo, { hosts, servers }: Infrastructure): string[] {
  return [
    ...(runs_on.includes('host') ? hosts.filter(({ origin }) => origin === 'twin') : []),
    ...(runs_on.includes('server') ? servers : []),
  ].map(({ id }) => id);
}

/** Checks beyond the fields. */
export function nameProblem({ id }: Values): Readonly<Record<string, string>> {
  const { error } = Name.safeParse(id);
  return id && error ? { '/id': error.issues[0]!.message } : {};
}
