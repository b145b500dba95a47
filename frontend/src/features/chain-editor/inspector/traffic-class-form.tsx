import { MultiSelect } from '@mantine/core';
import { type ChainDefinition, primaryAddress } from '@orrery/contract';
import { DIRECT_FILTER_ATTRIBUTES } from '../../../editor-model/attributes.js';
import { setClass } from '../../../editor-model/edit.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { NumberEntry } from '../../../shared/form/number-entry.js';
import { RateInput } from '../../../shared/form/rate-input.js';
import { FilterRows } from './filter-rows.js';
import classes from './inspector.module.css';
import { Section } from './section.js';

/** Which traffic the chain processes, and its expected rate. */
export function TrafficClassForm({ definition }: { readonly definition: ChainDefinition }) {
  const { store, infrastructure, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const { traffic_class: cls } = definition;
  const hosts = (infrastructure?.hosts ?? []).map((host) => ({
    value: host.id,
    label: `${host.title ?? host.id} (${primaryAddress(host)})`,
  }));
  const unknown = cls.from.filter((id) => !hosts.some((host) => host.value === id));
  const at = (pointer: string) => problems.all.find((each) => each.pointer.startsWith(pointer))?.message ?? null;
  const set = (change: Partial<typeof cls>, field: string) =>
    store.apply((before) => setClass(before, { ...before.traffic_class, ...change }), `class:${field}`);
  return (
    <Section title="Traffic class">
      <MultiSelect
        label="From hosts"
        description="Traffic enters at the switch ports of these hosts."
        data={[...hosts, ...unknown.map((id) => ({ value: id, label: `${id} (unknown)` }))]}
        value={cls.from}
        disabled={readOnly}
        searchable
        error={at('/traffic_class/from')}
        onChange={(from) => from.length > 0 && set({ from }, 'from')}
      />
      <div>
        <div className={classes.label}>Match</div>
        <FilterRows
          filter={cls.match}
          attributes={DIRECT_FILTER_ATTRIBUTES}
          readOnly={readOnly}
          empty="All traffic of these hosts."
          problemOf={(row) => at(`/traffic_class/match/${row}/`)}
          onChange={(match, row) => set({ match }, `match:${row}`)}
        />
      </div>
      <div className={classes.pair}>
        <RateInput
          label="Expected rate"
          description="0: no estimate, one instance of each NF."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={cls.rate_bps}
          disabled={readOnly}
          onChange={(rate) => rate !== null && set({ rate_bps: rate }, 'rate')}
        />
        <NumberEntry
          label="Mean packet"
          suffix=" bytes"
          min={64}
          max={9000}
          whole
          value={cls.packet_bytes}
          disabled={readOnly}
          onChange={(bytes) => set({ packet_bytes: bytes }, 'packet')}
        />
      </div>
    </Section>
  );
}
