import type { BoardNode, Infrastructure, Instance, Plan, Reason, ServerNode } from '@orrery/contract';
import { IconBox, IconTerminal2 } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { type Driver, driverText } from '../../../shared/format/form.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { coresText } from '../../../shared/plan/plan-text.js';
import { EmulatedMark, emulatedOutline } from '../../../shared/ui/emulated-mark.js';
import { NfIcon } from '../../../shared/ui/nf-icon.js';
import { Panel } from '../../../shared/ui/page-header.js';
import { useEditorContext } from '../editor/context.js';
import type { PlanAddress } from './address.js';
import { ArcDiagram } from './arc-diagram.js';
import { cutTraffic } from './cut-traffic.js';
import classes from './placement.module.css';
import { ReasonList } from './reasons-view.js';

/** Of more servers than can be looked through only those with something on them are drawn. */
const DRAWN_SERVERS = 12;
/** Idle cores beyond this many are counted, not drawn. */
const DRAWN_IDLE_CORES = 4;

interface PlacementProps {
  readonly plan: Plan;
  readonly infrastructure: Infrastructure | null;
  /** Its instances are set off from those of the other chains. */
  readonly pipelineId: string;
  readonly address: PlanAddress;
}

/** Servers with their cores and what stands on each, why it stands there, and what must cross the switch between them. */
export function PlacementView({ plan, infrastructure, pipelineId, address }: PlacementProps) {
  const known = infrastructure?.servers.length ? infrastructure.servers : serversOf(plan);
  const boards = infrastructure?.boards ?? [];
  const isBusy = ({ id }: ServerNode) =>
    plan.instances.some(({ server }) => server === id) || boards.some(({ server }) => server === id);
  const busy = known.length <= DRAWN_SERVERS ? known : known.filter(isBusy);
  const idle = known.filter((server) => !busy.includes(server));
  const [pointed, setPointed] = useState<string | null>(null);
  const selected = address.selected('nf');
  const shown = plan.instances.find(({ id }) => id === (pointed ?? selected));
  const select = (id: string) => address.select('nf', id === selected ? null : id);
  return (
    <div className={classes.groups}>
      <div className={classes.split}>
        <div className={classes.servers}>
          {busy.map((server) => (
            <Server
              key={server.id}
              server={server}
              boards={boards.filter((board) => board.server === server.id)}
              instances={plan.instances.filter((instance) => instance.server === server.id)}
              pipelineId={pipelineId}
              selected={selected}
              onSelect={select}
              onPoint={setPointed}
            />
          ))}
          {idle.length > 0 && (
            <p className="muted">
              {idle.length === 1 ? 'One server stays' : `${idle.length} servers stay`} empty:{' '}
              {idle.map((server) => server.title ?? server.id).join(', ')}
            </p>
          )}
        </div>
        <Why plan={plan} instance={shown} fixed={pointed === null && selected !== ''} />
      </div>
      <CutPanel plan={plan} servers={known} />
      <Offloads plan={plan} />
    </div>
  );
}

interface ServerProps {
  readonly server: ServerNode;
  readonly boards: readonly BoardNode[];
  readonly instances: readonly Instance[];
  readonly pipelineId: string;
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly onPoint: (id: string | null) => void;
}

function Server({ server, boards, instances, ...chips }: ServerProps) {
  const onCores = instances.filter(({ board }) => !board);
  const used = onCores.reduce((sum, instance) => sum + instance.core_share, 0);
  const cores = Array.from({ length: server.cores }, (_, core) => core);
  const busy = cores.filter((core) => onCores.some((instance) => instance.core === core));
  const idle = cores.filter((core) => !busy.includes(core));
  const drawn = idle.length <= DRAWN_IDLE_CORES ? cores : busy;
  const emulated = server.origin === 'twin' ? emulatedOutline : '';
  return (
    <section
      className={`${classes.server} ${emulated}`}
      data-origin={server.origin}
      aria-label={server.title ?? server.id}
    >
      <header>
        <strong>{server.title ?? server.id}</strong>
        <EmulatedMark origin={server.origin} />
        <span className="muted tabular">
          {coresText(used)} of {server.cores} cores
        </span>
      </header>
      {drawn.map((core) => (
        <Core key={core} core={core} instances={onCores.filter((each) => each.core === core)} {...chips} />
      ))}
      {drawn.length < cores.length && <p className={classes.idle}>{idle.length} more cores are idle</p>}
      {boards.map((board) => (
        <Board
          key={board.id}
          board={board}
          instances={instances.filter((each) => each.board?.board === board.id)}
          {...chips}
        />
      ))}
    </section>
  );
}

interface CoreProps extends Omit<ServerProps, 'server' | 'boards'> {
  readonly core: number;
}

function Core({ core, instances, ...chips }: CoreProps) {
  const share = instances.reduce((sum, instance) => sum + instance.core_share, 0);
  return (
    <div className={classes.core}>
      <span className={classes.coreName}>core {core}</span>
      <div className={classes.chips}>
        {instances.map((instance) => (
          <InstanceChip key={instance.id} instance={instance} {...chips} />
        ))}
        {instances.length === 0 && <span className={classes.free}>idle</span>}
      </div>
      <span className={classes.bar} role="img" aria-label={`${(share * 100).toFixed(0)} % of the core`}>
        <span style={{ width: `${Math.min(100, share * 100)}%` }} data-full={share > 0.9 || undefined} />
      </span>
    </div>
  );
}

type ChipProps = Pick<ServerProps, 'pipelineId' | 'selected' | 'onSelect' | 'onPoint'>;

function InstanceChip({ instance, pipelineId, selected, onSelect, onPoint }: ChipProps & { instance: Instance }) {
  const { descriptors } = useEditorContext();
  const own = instance.pipeline_id === pipelineId;
  const copy = instance.ordinal > 0 ? ` ${instance.ordinal + 1}` : '';
  return (
    <button
      type="button"
      className={classes.chip}
      data-other={!own || undefined}
      aria-pressed={selected === instance.id}
      aria-description={loadText(instance)}
      onClick={() => onSelect(instance.id)}
      onPointerEnter={() => onPoint(instance.id)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onPoint(instance.id)}
      onBlur={() => onPoint(null)}
    >
      <NfIcon icon={descriptors.find((each) => each.id === instance.nf)?.icon} size={13} />
      <span>{own ? instance.node_id + copy : instance.id}</span>
      <FormMark driver={instance.driver} />
    </button>
  );
}

/** What runs an instance, where it is not what runs most of them or is seen from where it stands. */
function FormMark({ driver }: { readonly driver: Driver }) {
  if (driver !== 'container' && driver !== 'process') return null;
  const Icon = driver === 'container' ? IconBox : IconTerminal2;
  return <Icon size={13} className={classes.form} role="img" aria-label={`in ${driverText(driver)}`} />;
}

function loadText({ load_bps, core_share, board }: Instance): string {
  const load = quantityText('bps', load_bps);
  return board ? load : `${load}, ${quantityText('share', core_share)} of the core`;
}

/** `server-1, core 2` or `server-1, board-1 slot 0` */
function placeText({ server, core, board }: Instance): string {
  return `${server}, ${board ? `${board.board} slot ${board.slot}` : `core ${core}`}`;
}

/** An FPGA board with what the plan loads into each slot. */
function Board({
  board,
  instances,
  ...chips
}: ChipProps & { readonly board: BoardNode; readonly instances: readonly Instance[] }) {
  const emulated = board.origin === 'twin' ? emulatedOutline : '';
  return (
    <div className={`${classes.board} ${emulated}`} data-origin={board.origin}>
      <div className={classes.boardHead}>
        <strong>{board.title ?? board.id}</strong> <EmulatedMark origin={board.origin} />
        <span className="muted">
          {board.device}, {quantityText('bps', board.bandwidth_bps)}
        </span>
      </div>
      <ul className={classes.slots} aria-label={`Slots of ${board.title ?? board.id}`}>
        {Array.from({ length: board.slots }, (_, slot) => {
          const used = instances.filter((each) => each.board?.slot === slot);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a slot is its number
            <li key={slot} data-used={used.length > 0 || undefined}>
              slot {slot}
              {used.length === 0 ? ': free' : ''}
              {used.map((instance) => (
                <InstanceChip key={instance.id} instance={instance} {...chips} />
              ))}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

interface WhyProps {
  readonly plan: Plan;
  readonly instance: Instance | undefined;
  /** It was chosen and stays, rather than being pointed at. */
  readonly fixed: boolean;
}

/** Why an instance stands where it stands; also for its number of copies and the switch. */
function Why({ plan, instance, fixed }: WhyProps) {
  const reasons = useMemo(() => (instance ? reasonsOf(plan, instance) : []), [plan, instance]);
  return (
    <aside className={classes.why} aria-label="Why here" aria-live="polite" data-shown={instance ? true : undefined}>
      {instance ? (
        <>
          <h2>
            {instance.id}
            <span className="muted"> on {placeText(instance)}</span>
          </h2>
          <p className={classes.facts}>
            {loadText(instance)}
            {!instance.board && `, as ${driverText(instance.driver)}`}
            {instance.board && `, ${instance.board.load} load, frames meanwhile: ${instance.board.policy}`}
            {fixed && '. Press it again to let go.'}
          </p>
          {reasons.length > 0 ? <ReasonList reasons={reasons} /> : <p className="muted">The plan gives no reason.</p>}
        </>
      ) : (
        <p className="muted">Point at an NF, or choose it, to see why it stands there and where else it could.</p>
      )}
    </aside>
  );
}

function reasonsOf(plan: Plan, instance: Instance): Reason[] {
  const order = ['placement', 'sizing', 'offload'];
  return plan.reasons
    .filter(({ subject }) => subject === instance.id || subject === instance.pgraph_node)
    .sort((a, b) => order.indexOf(a.part) - order.indexOf(b.part));
}

function CutPanel({ plan, servers }: { readonly plan: Plan; readonly servers: readonly ServerNode[] }) {
  const cuts = useMemo(() => cutTraffic(plan), [plan]);
  const titleOf = (id: string) => servers.find((server) => server.id === id)?.title ?? id;
  const ends = new Set(cuts.flatMap(({ from, to }) => [from, to]));
  const most = cuts[0]?.rate_bps ?? 0;
  const edges = cuts.reduce((sum, cut) => sum + cut.edges.length, 0);
  if (edges === 0)
    return (
      <Panel title="No edge crosses the switch between servers">
        <p className={classes.plain}>Only what comes in and what leaves passes the switch.</p>
      </Panel>
    );
  return (
    <Panel title={edges === 1 ? 'One edge crosses the switch' : `${edges} edges cross the switch`} flush>
      {ends.size <= DRAWN_SERVERS && (
        <ArcDiagram
          label={`Traffic between servers: ${cuts.map((cut) => `${titleOf(cut.from)} to ${titleOf(cut.to)} ${quantityText('bps', cut.rate_bps)}`).join(', ')}`}
          nodes={servers.filter(({ id }) => ends.has(id)).map(({ id }) => ({ id, label: titleOf(id) }))}
          arcs={cuts.map((cut) => ({
            id: `${cut.from} ${cut.to}`,
            from: cut.from,
            to: cut.to,
            label: quantityText('bps', cut.rate_bps),
            title: `${titleOf(cut.from)} to ${titleOf(cut.to)}: ${quantityText('bps', cut.rate_bps)} on ${cut.edges.length === 1 ? 'one edge' : `${cut.edges.length} edges`}`,
            width: 1.5 + 4.5 * (cut.rate_bps / most),
          }))}
        />
      )}
      <table className="table" aria-label="Edges that cross the switch">
        <thead>
          <tr>
            <th>From</th>
            <th>To</th>
            <th>Servers</th>
            <th className="number">Rate</th>
            <th className="number">Hop</th>
          </tr>
        </thead>
        <tbody>
          {cuts.flatMap((cut) =>
            cut.edges.map((edge) => (
              <tr key={edge.id}>
                <td>{edge.from}</td>
                <td>{edge.to}</td>
                <td className={classes.pair}>
                  {titleOf(cut.from)} → {titleOf(cut.to)}
                </td>
                <td className="number">{quantityText('bps', edge.rate_bps)}</td>
                <td className="number">{edge.hop ?? '–'}</td>
              </tr>
            )),
          )}
        </tbody>
      </table>
    </Panel>
  );
}

function Offloads({ plan }: { readonly plan: Plan }) {
  if (plan.offloads.length === 0) return null;
  return (
    <Panel title="Could run on the switch" actions={<span className={classes.label}>proposal</span>} flush>
      <p className={classes.note}>Fabrics do not take NFs over so far: a deployment leaves these on their servers.</p>
      <table className="table" aria-label="Instances that could run on the switch">
        <thead>
          <tr>
            <th>Instance</th>
            <th>Switch</th>
            <th className="number">Table entries</th>
            <th className="number">Frees</th>
            <th className="number">Saves on links</th>
          </tr>
        </thead>
        <tbody>
          {plan.offloads.map((offload) => (
            <tr key={`${offload.instance_id}${offload.switch}`}>
              <td>{offload.instance_id}</td>
              <td>{offload.switch}</td>
              <td className="number">{offload.entries}</td>
              <td className="number">{quantityText('share', offload.frees_core_share)} of a core</td>
              <td className="number">{quantityText('bps', offload.saves_bps)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** Where the infrastructure is not known, the servers that the plan names. */
function serversOf(plan: Plan): ServerNode[] {
  const ids = [...new Set(plan.instances.map((instance) => instance.server))];
  return ids.map((id) => ({
    id,
    origin: 'live',
    cores: Math.max(...plan.instances.filter((each) => each.server === id).map((each) => each.core)) + 1,
    ghz: 1,
    memory_bytes: 0,
    nics: [],
  }));
}
