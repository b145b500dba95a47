import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../../shared/api/chains.js';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { Facts } from '../../../shared/ui/detail-panel.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import type { Target } from '../frame.js';
import { JOINT_TEXT } from '../joints.js';
import type { Scene } from '../model.js';
import type { RunningJoint } from '../running-joints.js';
import classes from '../topology.module.css';
import { originFact } from './origin-fact.js';

interface JointDetailProps {
  readonly joint: RunningJoint;
  readonly scene: Scene;
  readonly onSelect: (target: Target) => void;
}

/** A mirror, a merge or a queue with its live figures. */
export function JointDetail({ joint, scene, onSelect }: JointDetailProps) {
  const titleOf = useChainTitle();
  const origin = scene.nodes.get(joint.server)?.origin ?? 'live';
  const key = (metric: SampleMetric<'module'>) => sampleKey('module', joint.id, metric);
  const emulated = origin === 'twin';
  return (
    <>
      <Facts
        items={[
          ['Kind', JOINT_TEXT[joint.kind]],
          [
            'Chain',
            <Link key="chain" to={chainPath(joint.chain_id)}>
              {titleOf(joint.chain_id)}
            </Link>,
          ],
          [
            'Runs on',
            <button
              key="server"
              type="button"
              className={classes.inlineLink}
              onClick={() => onSelect({ kind: 'node', id: joint.server })}
            >
              {joint.server}, core {joint.core}
            </button>,
          ],
          ...(joint.kind === 'merge' ? ([['Copies of', joint.mirror]] as const) : []),
          ...(joint.kind === 'split' ? ([['Flows of', joint.node_id]] as const) : []),
          ...(joint.kind === 'queue' || joint.kind === 'split'
            ? ([['Waiting', <LiveRate key="waiting" sampleKey={key('waiting')} quantity="count" />]] as const)
            : ([
                [
                  'Parallelism',
                  <Link key="parallel" to={`/parallelism?chain=${encodeURIComponent(joint.chain_id)}`}>
                    what it gains and costs
                  </Link>,
                ],
              ] as const)),
          ['CPU predicted', `${quantityText('share', joint.core_share)} of the core`],
          originFact(origin),
        ]}
      />
      <TimeSeriesChart
        title={joint.kind === 'queue' || joint.kind === 'split' ? 'Packets' : 'Packets and copies'}
        quantity="pps"
        emulated={emulated}
        height={110}
        series={[
          { key: key('pps'), label: 'in' },
          { key: key('out_pps'), label: 'out' },
          { key: key('drops_pps'), label: 'dropped' },
          ...(joint.kind === 'merge' ? [{ key: key('lost_pps'), label: 'timed out' }] : []),
        ]}
      />
      {joint.kind === 'merge' && (
        <TimeSeriesChart
          title="Copies in flight"
          quantity="count"
          emulated={emulated}
          height={90}
          series={[{ key: key('waiting'), label: 'waiting' }]}
        />
      )}
      <TimeSeriesChart
        title="CPU"
        quantity="share"
        emulated={emulated}
        height={90}
        series={[{ key: key('cpu'), label: 'of one core' }]}
      />
    </>
  );
}
