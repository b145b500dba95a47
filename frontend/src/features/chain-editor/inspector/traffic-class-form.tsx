import { Button } from '@mantine/core';
import { type ChainDefinition, primaryAddress, type TrafficClass } from '@orrery/contract';
import { DIRECT_FILTER_ATTRIBUTES } from '../../../editor-model/attributes.js';
import { ratedEdges, ratesContradict, withoutEdgeRates } from '../../../editor-model/edge-rates.js';
import { setClass } from '../../../editor-model/edit.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { SchemaFields } from '../../../shared/form/schema-fields.js';
import { type FormBinding, pointerOf } from '../../../shared/form/widget.js';
import { FilterRows } from './filter-rows.js';
import classes from './inspector.module.css';
import { Section } from './section.js';
import { GUARD_FIELDS, RATE_FIELDS, SOURCE_FIELDS } from './traffic-class-fields.js';

const PATH = ['traffic_class'];

/** Which traffic the chain processes, and its expected rate. */
export function TrafficClassForm({ definition }: { readonly definition: ChainDefinition }) {
  const { store, infrastructure, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const { traffic_class: cls } = definition;
  const problemIn = (pointer: string) =>
    problems.all.find((each) => `${each.pointer}/`.startsWith(`${pointer}/`))?.message ?? null;
  const set = (change: Partial<TrafficClass>, field: string) =>
    store.apply((before) => setClass(before, { ...before.traffic_class, ...change }), `class:${field}`);
  const form: FormBinding = {
    readOnly,
    strict: true,
    references: {
      host: {
        options: (infrastructure?.hosts ?? []).map((host) => ({
          value: host.id,
          label: `${host.title ?? host.id} (${primaryAddress(host)})`,
        })),
      },
    },
    problemAt: (path) => problemIn(pointerOf(path)),
    onChange: (path, next) => {
      const field = String(path.at(-1));
      set({ [field]: next[field] }, field);
    },
  };
  return (
    <Section title="Traffic class">
      <SchemaFields form={form} fields={SOURCE_FIELDS} values={cls} path={PATH} />
      <div>
        <div className={classes.label}>Match</div>
        <FilterRows
          filter={cls.match}
          attributes={DIRECT_FILTER_ATTRIBUTES}
          readOnly={readOnly}
          empty="All traffic of these hosts."
          problemOf={(row) => problemIn(`/traffic_class/match/${row}`)}
          onChange={(match, row) => set({ match }, `match:${row}`)}
        />
      </div>
      <SchemaFields form={form} fields={GUARD_FIELDS} values={cls} path={PATH} />
      <div className={classes.pair}>
        <SchemaFields form={form} fields={RATE_FIELDS} values={cls} path={PATH} />
      </div>
      <RatesOfEdges definition={definition} />
    </Section>
  );
}

/** Says that rates of connections are not those that the expected rate gives, and offers to derive them all. */
function RatesOfEdges({ definition }: { readonly definition: ChainDefinition }) {
  const { store, descriptors, readOnly } = useEditorContext();
  const count = ratedEdges(definition).length;
  if (count === 0 || !ratesContradict(definition, descriptors)) return null;
  return (
    <div className={classes.rates} role="note">
      <span>
        {count === 1 ? '1 connection has an estimated rate' : `${count} connections have estimated rates`} of{' '}
        {count === 1 ? 'its' : 'their'} own, which do not add up to the expected rate.
      </span>
      <Button size="compact-xs" variant="default" disabled={readOnly} onClick={() => store.apply(withoutEdgeRates)}>
        Derive {count === 1 ? 'it' : 'them'} from the class
      </Button>
    </div>
  );
}
