import type { NodeStatus } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { spotText } from '../../../shared/format/form.js';
import { PartService } from '../../../shared/service/part-service.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { Target } from '../frame.js';
import { JOINT_NAMES, jointRateKey } from '../joints.js';
import { rateKey, type Scene, type SceneNode } from '../model.js';
import classes from '../topology.module.css';
import { agentFacts } from './agent-facts.js';
import { originFact } from './origin-fact.js';

interface ServerDetailProps {
  readonly node: SceneNode;
  readonly status: NodeStatus | undefined;
  readonly scene: Scene;
  readonly onSelect: (target: Target) => void;
}

export function ServerDetail({ node, status, scene, onSelect }: ServerDetailProps) {
  const joints = [...scene.joints.values()].filter(({ server }) => server === node.id);
  return (
    <>
      <Facts
        items={[
          ['Engine', <StatusBadge key="engine" state={status?.engine ?? 'unknown'} />],
          ['Service', <PartService key="service" id={node.id} />],
          ...agentFacts(status),
          ['Cores', node.subtitle],
          ...(node.addresses.length > 0 ? [['Addresses', node.addresses.join(', ')] as const] : []),
          originFact(node.origin),
        ]}
      />
      <TimeSeriesChart
        title="Engine CPU"
        quantity="share"
        emulated={node.origin === 'twin'}
        height={110}
        series={[{ key: sampleKey('node', node.id, 'cpu'), label: 'of one core' }]}
      />
      <DetailSection title={`NF instances (${node.chips.length})`}>
        {node.chips.length === 0 ? (
          <span className="muted">none</span>
        ) : (
          <ul className={classes.instances}>
            {node.chips.map((chip) => (
              <li key={chip.id}>
                <button type="button" onClick={() => onSelect({ kind: 'nf', id: chip.id })}>
                  <StatusBadge state={chip.state} compact />
                  <span>{chip.id}</span>
                  <span className="muted">{spotText(chip.instance)}</span>
                  <LiveRate sampleKey={rateKey(chip)} quantity="pps" />
                </button>
              </li>
            ))}
          </ul>
        )}
      </DetailSection>
      {joints.length > 0 && (
        <DetailSection title={`Mirrors, merges, splits and queues (${joints.length})`}>
          <ul className={classes.instances}>
            {joints.map(({ id, kind, core }) => (
              <li key={id}>
                <button type="button" onClick={() => onSelect({ kind: 'joint', id })}>
                  <span className="muted">{JOINT_NAMES[kind]}</span>
                  <span>{id}</span>
                  <span className="muted">core {core}</span>
                  <LiveRate sampleKey={jointRateKey(id)} quantity="pps" />
                </button>
              </li>
            ))}
          </ul>
        </DetailSection>
      )}
    </>
  );
}
