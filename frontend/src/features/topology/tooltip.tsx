import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { useChainTitle } from '../../shared/api/chains.js';
import { SHOWN_WORDS } from '../../shared/chain/nf-state.js';
import { runsOnText } from '../../shared/format/form.js';
import { quantityText } from '../../shared/format/quantity.js';
import { useLink, useStale } from '../../shared/stream/hooks.js';
import { LiveRate, RateText } from '../../shared/ui/rate-text.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { slotWords } from './boards.js';
import type { Target } from './frame.js';
import { JOINT_TEXT } from './joints.js';
import { boardOf, chipOf, rateKey, type Scene } from './model.js';
import classes from './topology.module.css';
import type { Trouble, Troubles } from './troubles.js';

function LinkTip({ scene, id }: { readonly scene: Scene; readonly id: string }) {
  const link = scene.links.get(id);
  const now = useLink(id);
  const stale = useStale(now?.received_ms);
  if (!link) return null;
  return (
    <>
      <strong>{id}</strong>
      <StatusBadge state={now?.up === false ? 'down' : 'up'} />
      <span className={classes.tipRow}>
        {link.a} to {link.b} <RateText quantity="bps" value={now?.a_to_b_bps} stale={stale} />
      </span>
      <span className={classes.tipRow}>
        {link.b} to {link.a} <RateText quantity="bps" value={now?.b_to_a_bps} stale={stale} />
      </span>
      <span className="muted">
        {now ? `${quantityText('share', now.utilization)} of ` : ''}
        {quantityText('bps', link.bandwidth_bps)}
      </span>
    </>
  );
}

function TroubleTip({ trouble: { word, text, status } }: { readonly trouble: Trouble }) {
  return (
    <>
      <StatusBadge state={word} status={status} />
      <span className="muted">{text}</span>
    </>
  );
}

interface TooltipProps {
  readonly target: Target;
  readonly scene: Scene;
  readonly troubles: Troubles;
}

export function Tooltip({ target, scene, troubles }: TooltipProps) {
  const titleOf = useChainTitle();
  const trouble = troubles.get(target.id);
  if (target.kind === 'link') return <LinkTip scene={scene} id={target.id} />;
  if (target.kind === 'nf') {
    const chip = chipOf(scene, target.id);
    if (!chip) return null;
    const { instance } = chip;
    const key = (metric: SampleMetric<'instance'>) => sampleKey('instance', target.id, metric);
    return (
      <>
        <strong>{instance.id}</strong>
        <StatusBadge state={chip.state} label={SHOWN_WORDS[chip.state]} />
        <span className="muted">
          {titleOf(instance.chain_id)}, {runsOnText(instance)}
        </span>
        <span className={classes.tipRow}>
          packets <LiveRate sampleKey={rateKey(chip)} quantity="pps" />
        </span>
        <span className={classes.tipRow}>
          drops <LiveRate sampleKey={key('drops_pps')} quantity="pps" />
        </span>
        <span className={classes.tipRow}>
          p99 <LiveRate sampleKey={key('latency_p99_us')} quantity="us" />
        </span>
      </>
    );
  }
  if (target.kind === 'board') {
    const board = boardOf(scene, target.id);
    if (!board) return null;
    return (
      <>
        <strong>{board.title}</strong>
        <StatusBadge state={board.state} />
        {trouble && <TroubleTip trouble={trouble} />}
        <span className="muted">
          board, {board.device}
          {board.emulated ? ', emulated' : ''}
        </span>
        {board.slots.map((row) => (
          <span key={row.slot} className={classes.tipRow}>
            slot {row.slot} <span>{slotWords(row)}</span>
          </span>
        ))}
      </>
    );
  }
  if (target.kind === 'joint') {
    const joint = scene.joints.get(target.id);
    if (!joint) return null;
    const key = (metric: SampleMetric<'module'>) => sampleKey('module', joint.id, metric);
    return (
      <>
        <strong>{joint.id}</strong>
        <span className="muted">{JOINT_TEXT[joint.kind]}</span>
        <span className={classes.tipRow}>
          in <LiveRate sampleKey={key('pps')} quantity="pps" />
        </span>
        <span className={classes.tipRow}>
          out <LiveRate sampleKey={key('out_pps')} quantity="pps" />
        </span>
        {joint.kind !== 'mirror' && (
          <span className={classes.tipRow}>
            waiting <LiveRate sampleKey={key('waiting')} quantity="count" />
          </span>
        )}
      </>
    );
  }
  const node = scene.nodes.get(target.id);
  if (!node) return null;
  return (
    <>
      <strong>{node.title}</strong>
      <span className="muted">
        {node.kind === 'host' ? `${node.role ?? 'host'} host` : node.kind}, {node.subtitle}
        {node.origin === 'twin' ? ', emulated' : ''}
      </span>
      {trouble && <TroubleTip trouble={trouble} />}
      {node.kind === 'server' && (
        <span className={classes.tipRow}>
          engine CPU <LiveRate sampleKey={sampleKey('node', node.id, 'cpu')} quantity="share" />
        </span>
      )}
    </>
  );
}
