import type { CataloguedNf, LearntProfile } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { resourcesText } from '../../shared/format/resources.js';
import { dateTimeText } from '../../shared/format/time.js';
import { DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { JsonView } from '../../shared/ui/json-view.js';
import classes from './catalogue.module.css';
import { REFERENCE_PACKET_BYTES, rateOfOneCore } from './cost.js';
import { ImageDetail } from './image-detail.js';
import { Tags } from './tags.js';

export function DescriptorDetail({ descriptor }: { readonly descriptor: CataloguedNf }) {
  const { actions, attributes, state, affinity, scaling, implementations, written, learnt } = descriptor;
  const program = implementations.find((it) => it.program)?.program;
  const image = implementations.find((it) => it.image)?.image;
  return (
    <>
      <p className={classes.lead}>{descriptor.summary}</p>
      <Facts
        items={[
          ['Id', <code key="id">{descriptor.id}</code>],
          ['Version', descriptor.version],
          ['Category', descriptor.category],
          ['Instances', `at most ${scaling.max_instances}`],
          ...(written ? [['Described by', `${written.by}, ${dateTimeText(written.updated_ms)}`] as const] : []),
          ['Replies', descriptor.return_traffic ? 'must return through the same instance' : 'may bypass it'],
        ]}
      />
      <DetailSection title="Packets">
        <Facts
          items={[
            ['Reads', <Tags key="reads" items={actions.reads} />],
            ['Writes', <Tags key="writes" items={actions.writes} />],
            ['Adds', <Tags key="adds" items={actions.adds} />],
            ['Removes', <Tags key="removes" items={actions.removes} />],
            ['May drop', actions.may_drop ? 'yes' : 'no'],
            ...(actions.answers ? [['May answer', 'yes, in place of the destination'] as const] : []),
            ...(actions.refuses ? [['Drops as configured', actions.refuses.join(', ')] as const] : []),
          ]}
        />
      </DetailSection>
      <DetailSection title="State">
        <Facts
          items={[
            ['Kind', state.kind],
            ['Key', <Tags key="key" items={state.key} />],
            ['Affinity', affinity.length === 0 ? 'any instance' : <Tags key="affinity" items={affinity} />],
          ]}
        />
      </DetailSection>
      {program && (
        <DetailSection title="Program (legacy NF)">
          <Facts
            items={[
              ['Forwarding', program.forwarding],
              ...program.setup.map(
                (words, i) => [`Setup ${i + 1}`, <code key={words.join(' ')}>{words.join(' ')}</code>] as const,
              ),
              ['Kept running', program.command ? <code key="command">{program.command.join(' ')}</code> : 'nothing'],
              ...(program.report
                ? [['Reports, once a second', <code key="report">{program.report.join(' ')}</code>] as const]
                : []),
              ['Needs', program.packages.join(', ') || 'no package'],
              ['Preserves', program.preserves.join(', ') || 'neither metadata nor ingress time'],
            ]}
          />
        </DetailSection>
      )}
      {image && <ImageDetail image={image} isOfUser={written !== undefined} />}
      {attributes.length > 0 && (
        <DetailSection title="Derived attributes">
          <Facts
            items={attributes.map(({ name, title, values }) => [
              `${descriptor.id}.${name}`,
              `${title}: ${values.map(({ value }) => value).join(', ')}`,
            ])}
          />
        </DetailSection>
      )}
      {implementations.map(({ kind, driver, cost, resources, source }) => (
        <DetailSection
          key={`${kind} ${driver}`}
          title={kind === driver ? `Cost: ${kind}` : `Cost: ${kind} (${driver})`}
        >
          <Facts
            items={[
              ...(kind === 'board'
                ? ([['Slot resources needed', resourcesText(resources) || 'not specified']] as const)
                : []),
              ...(kind === 'board' ? [] : [['Cost', costText(learnt?.find((it) => it.driver === driver))] as const]),
              ['Cycles per packet', countText(cost.cycles_per_packet)],
              ['Cycles per byte', cost.cycles_per_byte],
              ...(source ? [['Measured by', source] as const] : []),
              ['Base latency', quantityText('us', cost.base_latency_us)],
              ...(kind === 'board' ? [] : [['Memory', quantityText('bytes', cost.memory_bytes)] as const]),
              [
                'Estimate',
                `${quantityText('pps', rateOfOneCore(cost))} ${kind === 'board' ? 'per GHz of the board’s clock' : 'per core and GHz'} at ${REFERENCE_PACKET_BYTES} bytes`,
              ],
            ]}
          />
        </DetailSection>
      ))}
      <DetailSection title="Configuration (JSON Schema)">
        <JsonView value={descriptor.config_schema} label="Configuration schema" />
      </DetailSection>
    </>
  );
}

function costText(learnt: LearntProfile | undefined): string {
  if (!learnt) return 'declared';
  const { learnt_ms, servers, origin } = learnt;
  return `learnt on ${dateTimeText(learnt_ms)} at ${servers.join(', ')}${origin === 'twin' ? ' (emulated)' : ''}`;
}
