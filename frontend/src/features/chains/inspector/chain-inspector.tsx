import { ActionIcon, Button, MultiSelect, Textarea } from '@mantine/core';
import { Name, type PipelineDefinition, type Slo } from '@orrery/contract';
import { IconPlus, IconX } from '@tabler/icons-react';
import { DIRECT_FILTER_ATTRIBUTES } from '../../../editor-model/attributes.js';
import { setClass, setDetails, setSlos } from '../../../editor-model/edit.js';
import { freshName } from '../../../editor-model/identifiers.js';
import { useDerived, useEditor, useEditorContext } from '../editor/context.js';
import { SloFigures } from '../live/slo-figures.js';
import { ClassSloForm } from './class-slo-form.js';
import { FilterRows } from './filter-rows.js';
import classes from './inspector.module.css';
import { NumberEntry } from './number-entry.js';
import { ProblemNotes } from './problem-notes.js';
import { RateInput } from './rate-input.js';
import { Section } from './section.js';
import { TextEntry } from './text-entry.js';

/** What belongs to the chain as a whole: whose traffic it treats, what it promises, what it is called. */
export function ChainInspector() {
  const problems = useDerived((derived) => derived.problems);
  const definition = useEditor((state) => state.definition);
  return (
    <>
      <header className={classes.head}>
        <h2>Chain</h2>
      </header>
      <ProblemNotes problems={problems.all.filter((problem) => !problem.node && !problem.edge)} />
      <TrafficClassForm definition={definition} />
      <SloForm definition={definition} />
      <ClassSloForm definition={definition} />
      <DetailsForm definition={definition} />
    </>
  );
}

interface FormProps {
  readonly definition: PipelineDefinition;
}

function TrafficClassForm({ definition }: FormProps) {
  const { store, infrastructure, readOnly } = useEditorContext();
  const problems = useDerived((derived) => derived.problems);
  const { traffic_class: cls } = definition;
  const hosts = (infrastructure?.hosts ?? []).map((host) => ({
    value: host.id,
    label: `${host.title ?? host.id} (${host.address})`,
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

function SloForm({ definition }: FormProps) {
  const { store, readOnly } = useEditorContext();
  const { slos } = definition;
  const set = (next: Slo[], group?: string) => store.apply((before) => setSlos(before, next), group);
  const replace = (slo: Slo, field: string) =>
    set(
      slos.map((each) => (each.id === slo.id ? slo : each)),
      `slo:${slo.id}:${field}`,
    );
  const taken = new Set(slos.map((slo) => slo.id));
  return (
    <Section title="Objectives">
      {slos.length === 0 && <p className={classes.note}>None: nothing is promised and nothing is judged.</p>}
      {slos.map((slo) => (
        <div key={slo.id} className={classes.card}>
          <div className={classes.cardHead}>
            <span>{slo.kind === 'latency' ? 'Latency' : 'Throughput'}</span>
            {!readOnly && (
              <ActionIcon
                size={24}
                aria-label={`Remove objective ${slo.id}`}
                onClick={() => set(slos.filter((each) => each.id !== slo.id))}
              >
                <IconX size={13} aria-hidden />
              </ActionIcon>
            )}
          </div>
          {slo.kind === 'latency' ? (
            <div className={classes.pair}>
              <NumberEntry
                label="Percentile"
                prefix="p"
                min={1}
                max={99.99}
                value={slo.percentile}
                disabled={readOnly}
                onChange={(percentile) => replace({ ...slo, percentile }, 'percentile')}
              />
              <NumberEntry
                label="At most"
                suffix=" µs"
                thousandSeparator=" "
                min={1}
                value={slo.max_us}
                disabled={readOnly}
                onChange={(max_us) => replace({ ...slo, max_us }, 'max')}
              />
            </div>
          ) : (
            <RateInput
              label="At least"
              value={slo.min_bps}
              disabled={readOnly}
              onChange={(rate) => rate !== null && replace({ ...slo, min_bps: rate }, 'min')}
            />
          )}
          <SloFigures sloId={slo.id} />
        </div>
      ))}
      {!readOnly && slos.length < 16 && (
        <div className={classes.adders}>
          <Button
            variant="subtle"
            size="compact-xs"
            leftSection={<IconPlus size={12} aria-hidden />}
            onClick={() =>
              set([...slos, { id: freshName('latency-p99', taken), kind: 'latency', percentile: 99, max_us: 10_000 }])
            }
          >
            Latency objective
          </Button>
          <Button
            variant="subtle"
            size="compact-xs"
            leftSection={<IconPlus size={12} aria-hidden />}
            onClick={() => set([...slos, { id: freshName('throughput', taken), kind: 'throughput', min_bps: 1e6 }])}
          >
            Throughput objective
          </Button>
        </div>
      )}
    </Section>
  );
}

function DetailsForm({ definition }: FormProps) {
  const { store, pipeline, readOnly } = useEditorContext();
  const deployed = pipeline.deployed_version !== null;
  return (
    <Section title="Details">
      <TextEntry
        label="Title"
        value={definition.title}
        maxLength={80}
        disabled={readOnly}
        problemOf={(title) => (title.trim() ? null : 'A chain needs a title')}
        live
        onCommit={(title) => store.apply((before) => setDetails(before, { title }), 'title')}
      />
      <TextEntry
        label="Name"
        description={deployed ? 'A new name starts new instances at the next deployment.' : 'Unique in the project.'}
        value={definition.name}
        disabled={readOnly}
        problemOf={(name) => Name.safeParse(name).error?.issues[0]?.message ?? null}
        onCommit={(name) => store.apply((before) => setDetails(before, { name }))}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        maxRows={6}
        maxLength={2000}
        value={definition.description}
        disabled={readOnly}
        onChange={(event) => {
          const description = event.currentTarget.value;
          store.apply((before) => setDetails(before, { description }), 'description');
        }}
      />
    </Section>
  );
}
