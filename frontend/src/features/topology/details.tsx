import type { NodeStatus } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { useCounters } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { measuresLatency, runsOnText, spotText } from '../../shared/format/form.js';
import { quantityText } from '../../shared/format/quantity.js';
import { useLink } from '../../shared/stream/hooks.js';
import { DetailPanel, DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LiveRate, RateText } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { type BoardBox, slotWords } from './boards.js';
import type { Target } from './draw.js';
import { boardOf, type Chip, chipOf, rateKey, type Scene, type SceneLink, type SceneNode } from './model.js';
import classes from './topology.module.css';

interface DetailsProps {
  readonly target: Target;
  readonly scene: Scene;
  readonly nodes: readonly NodeStatus[];
  readonly onSelect: (target: Target | null) => void;
}

const originFact = (origin: 'twin' | 'live') =>
  ['Origin', origin === 'twin' ? <EmulatedMark key="origin" /> : 'real equipment'] as const;

function LinkDetail({ link }: { readonly link: SceneLink }) {
  const now = useLink(link.id);
  const emulated = link.origin === 'twin';
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={now?.up === false ? 'down' : 'up'} />],
          [`${link.a} to ${link.b}`, <RateText key="ab" quantity="bps" value={now?.a_to_b_bps} />],
          [`${link.b} to ${link.a}`, <RateText key="ba" quantity="bps" value={now?.b_to_a_bps} />],
          ['Utilization', <RateText key="u" quantity="share" value={now?.utilization} />],
          ['Drops', now ? now.drops.toLocaleString() : '–'],
          ['Bandwidth', quantityText('bps', link.bandwidth_bps)],
          ['Delay', quantityText('us', link.delay_us)],
          originFact(link.origin),
        ]}
      />
      <TimeSeriesChart
        title="Rate"
        quantity="bps"
        emulated={emulated}
        height={160}
        series={[
          { key: `link/${link.id}/a_to_b_bps`, label: `${link.a} to ${link.b}` },
          { key: `link/${link.id}/b_to_a_bps`, label: `${link.b} to ${link.a}` },
        ]}
      />
      {emulated && (
        <p className="muted">
          Take it down or mend it in the <Link to="/twin">twin lab</Link>.
        </p>
      )}
    </>
  );
}

function InstanceDetail({ chip }: { readonly chip: Chip }) {
  const { instance } = chip;
  const titleOf = useChainTitle();
  const emulated = instance.origin === 'twin';
  const key = (metric: string) => `instance/${chip.id}/${metric}`;
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={instance.state} />],
          ...(instance.detail ? [['Detail', instance.detail] as const] : []),
          [
            'Chain',
            <Link key="chain" to={chainPath(instance.pipeline_id)}>
              {titleOf(instance.pipeline_id)}
            </Link>,
          ],
          [
            'Function',
            <Link key="nf" to={`/catalogue?nf=${instance.nf}`}>
              {instance.nf}
            </Link>,
          ],
          ['Runs on', runsOnText(instance)],
          ...(chip.slot
            ? ([
                [
                  'Board',
                  <Link key="board" to="/accelerators">
                    {chip.slot.board}, with its load
                  </Link>,
                ],
              ] as const)
            : ([['Queue', <LiveRate key="queue" sampleKey={key('queue')} quantity="count" />]] as const)),
          originFact(instance.origin),
        ]}
      />
      <TimeSeriesChart
        title="Packets"
        quantity="pps"
        emulated={emulated}
        height={110}
        series={
          chip.slot
            ? [
                { key: rateKey(chip), label: 'in' },
                { key: rateKey(chip).replace(/pps$/, 'lost_pps'), label: 'lost' },
              ]
            : [
                { key: key('pps'), label: 'in' },
                { key: key('drops_pps'), label: 'dropped' },
              ]
        }
      />
      {measuresLatency(instance.driver) && (
        <TimeSeriesChart
          title="Latency in the NF"
          quantity="us"
          emulated={emulated}
          height={110}
          series={[
            { key: key('latency_p99_us'), label: 'p99' },
            { key: key('latency_p50_us'), label: 'p50' },
          ]}
        />
      )}
      <TimeSeriesChart
        title="CPU"
        quantity="share"
        emulated={emulated}
        height={90}
        series={[{ key: key('cpu'), label: 'of one core' }]}
      />
      <Counters chip={chip} />
    </>
  );
}

/** Packets since the instance started, and why some were dropped. */
function Counters({ chip }: { readonly chip: Chip }) {
  const { data } = useCounters(chip.instance.pipeline_id);
  const counters = data?.find(({ instance_id }) => instance_id === chip.id);
  if (!counters) return null;
  const drops = Object.entries(counters.drops).filter(([, count]) => count > 0);
  return (
    <DetailSection title="Since it started">
      <Facts
        items={[
          ['Packets in', counters.packets_in.toLocaleString()],
          ['Packets out', counters.packets_out.toLocaleString()],
          ['Bytes in', quantityText('bytes', counters.bytes_in)],
          ...drops.map(([reason, count]) => [`Dropped: ${reason}`, count.toLocaleString()] as const),
          ...(drops.length === 0 ? [['Dropped', 'none'] as const] : []),
        ]}
      />
    </DetailSection>
  );
}

function ServerDetail({
  node,
  status,
  onSelect,
}: {
  node: SceneNode;
  status?: NodeStatus;
  onSelect: DetailsProps['onSelect'];
}) {
  return (
    <>
      <Facts
        items={[
          ['Agent', <StatusBadge key="agent" state={status?.state ?? 'unknown'} />],
          ['Engine', <StatusBadge key="engine" state={status?.engine ?? 'unknown'} />],
          [
            'Generation',
            status
              ? status.generation.desired === status.generation.observed
                ? `${status.generation.observed}, as desired`
                : `${status.generation.observed}, desired ${status.generation.desired}`
              : '–',
          ],
          ['Last seen', status?.last_seen_ms ? <RelativeTime key="seen" t_ms={status.last_seen_ms} /> : 'never'],
          ...(status?.detail ? [['Detail', status.detail] as const] : []),
          ['Cores', node.subtitle],
          ['Version', status?.version ?? '–'],
          originFact(node.origin),
        ]}
      />
      <TimeSeriesChart
        title="Engine CPU"
        quantity="share"
        emulated={node.origin === 'twin'}
        height={110}
        series={[{ key: `node/${node.id}/cpu`, label: 'of one core' }]}
      />
      <DetailSection title={`NF instances (${node.chips.length})`}>
        {node.chips.length === 0 ? (
          <span className="muted">none</span>
        ) : (
          <ul className={classes.instances}>
            {node.chips.map((chip) => (
              <li key={chip.id}>
                <button type="button" onClick={() => onSelect({ kind: 'nf', id: chip.id })}>
                  <StatusBadge state={chip.instance.state} compact />
                  <span>{chip.id}</span>
                  <span className="muted">{spotText(chip.instance)}</span>
                  <LiveRate sampleKey={rateKey(chip)} quantity="pps" />
                </button>
              </li>
            ))}
          </ul>
        )}
      </DetailSection>
    </>
  );
}

function BoardDetail({ board, scene }: { readonly board: BoardBox; readonly scene: Scene }) {
  const server = scene.serverOfBoard.get(board.id) ?? '';
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={board.state} />],
          ['Device', board.device],
          [
            'Server',
            <Link key="server" to={`/topology?node=${encodeURIComponent(server)}`}>
              {server}
            </Link>,
          ],
          originFact(board.emulated ? 'twin' : 'live'),
        ]}
      />
      <DetailSection title={`Slots (${board.slots.length})`}>
        <Facts items={board.slots.map((row) => [`slot ${row.slot}`, row.instance?.id ?? slotWords(row)] as const)} />
      </DetailSection>
      <TimeSeriesChart
        title="Throughput of slots"
        quantity="bps"
        emulated={board.emulated}
        height={130}
        series={board.slots.map(({ slot }) => ({ key: `slot/${board.id}.${slot}/bps`, label: `slot ${slot}` }))}
      />
      <p className="muted">
        Program and drain it on <Link to="/accelerators">Accelerators</Link>.
      </p>
    </>
  );
}

function PlainDetail({ node, scene, onSelect }: { node: SceneNode; scene: Scene; onSelect: DetailsProps['onSelect'] }) {
  const links = [...scene.links.values()].filter(({ a, b }) => a === node.id || b === node.id);
  return (
    <>
      <Facts
        items={[
          ['Kind', node.kind === 'host' ? `${node.role} host` : 'switch'],
          [node.kind === 'host' ? 'Address' : 'Driver', node.subtitle],
          originFact(node.origin),
        ]}
      />
      {links.length > 0 && links.length <= 6 && (
        <TimeSeriesChart
          title={node.kind === 'host' ? 'Sent and received' : 'Towards the switch'}
          quantity="bps"
          emulated={node.origin === 'twin'}
          height={150}
          series={
            node.kind === 'host'
              ? links.flatMap(({ id, a }) => [
                  { key: `link/${id}/${a === node.id ? 'a_to_b' : 'b_to_a'}_bps`, label: 'sent' },
                  { key: `link/${id}/${a === node.id ? 'b_to_a' : 'a_to_b'}_bps`, label: 'received' },
                ])
              : links.map(({ id, a, b }) => ({
                  key: `link/${id}/${a === node.id ? 'b_to_a' : 'a_to_b'}_bps`,
                  label: a === node.id ? b : a,
                }))
          }
        />
      )}
      <DetailSection title={`Links (${links.length})`}>
        <ul className={classes.instances}>
          {links.map(({ id, bandwidth_bps }) => (
            <li key={id}>
              <button type="button" onClick={() => onSelect({ kind: 'link', id })}>
                <span>{id}</span>
                <span className="muted">{quantityText('bps', bandwidth_bps)}</span>
              </button>
            </li>
          ))}
        </ul>
      </DetailSection>
    </>
  );
}

/** Everything about the selected element, with its charts. */
export function Details({ target, scene, nodes, onSelect }: DetailsProps) {
  const close = () => onSelect(null);
  const node = target.kind === 'node' ? scene.nodes.get(target.id) : undefined;
  const link = target.kind === 'link' ? scene.links.get(target.id) : undefined;
  const chip = target.kind === 'nf' ? chipOf(scene, target.id) : undefined;
  const board = target.kind === 'board' ? boardOf(scene, target.id) : undefined;
  const title = node?.title ?? board?.title ?? target.id;
  return (
    <DetailPanel title={title} label={`Details of ${title}`} onClose={close}>
      {link ? (
        <LinkDetail link={link} />
      ) : chip ? (
        <InstanceDetail chip={chip} />
      ) : board ? (
        <BoardDetail board={board} scene={scene} />
      ) : node?.kind === 'server' ? (
        <ServerDetail node={node} status={nodes.find(({ id }) => id === node.id)} onSelect={onSelect} />
      ) : node ? (
        <PlainDetail node={node} scene={scene} onSelect={onSelect} />
      ) : (
        <EmptyState title="This is no longer in the network" />
      )}
    </DetailPanel>
  );
}
