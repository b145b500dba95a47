import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconTopologyStar3 } from '@tabler/icons-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import {
  useAccelerators,
  useChains,
  useDeployments,
  useInfrastructure,
  useNfInstances,
  useNodes,
  useOutOfService,
  useSwitches,
  useTwin,
} from '../../shared/api/queries.js';
import { PageHeader } from '../../shared/page/page-header.js';
import { useDownLinkIds, useWantSamples } from '../../shared/stream/hooks.js';
import { seriesColor, usePalette } from '../../shared/theme/palette.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { Details } from './details/details.js';
import { ElementList } from './element-list.js';
import type { Target } from './frame.js';
import { Legend } from './legend.js';
import { buildScene } from './model.js';
import { jointKinds } from './overlay.js';
import { runningJoints } from './running-joints.js';
import { loadPlaces, savePlaces } from './saved-places.js';
import { useSelection } from './selection.js';
import classes from './topology.module.css';
import { type CanvasHandle, TopologyCanvas } from './topology-canvas.js';
import { TopologyTools } from './topology-tools.js';
import { NO_TROUBLES, troublesOf } from './troubles.js';
import { useRunningPlans } from './use-running-plans.js';
import { useShownPath } from './use-shown-path.js';
import { useTopologyCommands } from './use-topology-commands.js';

const SAMPLES = [
  samplePrefix('link'),
  samplePrefix('node'),
  samplePrefix('instance'),
  samplePrefix('slot'),
  samplePrefix('module'),
];

export function Component() {
  const infrastructure = useInfrastructure();
  const instances = useNfInstances();
  const accelerators = useAccelerators();
  const nodes = useNodes();
  const twin = useTwin();
  const chains = useChains();
  const deployments = useDeployments();
  const palette = usePalette();
  const [selected, select] = useSelection();
  const [list, setList] = useUrlParam('list');
  const canvas = useRef<CanvasHandle>(null);
  useWantSamples(SAMPLES);

  const network = infrastructure.data;
  const running = useRunningPlans(deployments.data);
  const { plans } = running;
  const joints = useMemo(() => runningJoints(plans), [plans]);
  const scene = useMemo(
    () =>
      network
        ? buildScene(network, instances.data ?? [], accelerators.data ?? [], deployments.data ?? [], joints)
        : null,
    [network, instances.data, accelerators.data, deployments.data, joints],
  );
  const out = useOutOfService().data;
  const downIds = useDownLinkIds();
  const switches = useSwitches().data;
  const troubles = useMemo(
    () => (network ? troublesOf(network, out ?? [], downIds, switches ?? []) : NO_TROUBLES),
    [network, out, downIds, switches],
  );
  const name = network?.name ?? '';
  const [places, setPlaces] = useState({ name: '', moved: loadPlaces('') });
  if (name !== '' && places.name !== name) setPlaces({ name, moved: loadPlaces(name) });

  const deployed = useMemo(() => deployments.data ?? [], [deployments.data]);
  const path = useShownPath(scene, chains.data, deployed);
  const { overlay } = path;
  const chainColor = useCallback(
    (id: string) => {
      const index = deployed.findIndex(({ chain_id }) => chain_id === id);
      return index < 0 ? palette.stale : seriesColor(palette, index);
    },
    [deployed, palette],
  );

  const move = (id: string, to: { x: number; y: number }) => {
    const moved = new Map(places.moved).set(id, to);
    savePlaces(name, moved);
    setPlaces({ name, moved });
  };
  const reset = () => {
    savePlaces(name, new Map());
    setPlaces({ name, moved: new Map() });
    requestAnimationFrame(() => canvas.current?.fit());
  };
  const pickInList = (target: Target) => {
    select(target);
    canvas.current?.reveal(target);
  };
  const listShown = list !== 'off';

  useTopologyCommands({ canvas, reset, listShown, setList, clear: selected ? () => select(null) : null });

  return (
    <WithDetail
      detail={
        selected &&
        scene && (
          <Details
            key={`${selected.kind} ${selected.id}`}
            target={selected}
            scene={scene}
            troubles={troubles}
            nodes={nodes.isPending ? null : (nodes.data ?? [])}
            plans={plans}
            isPending={[instances, accelerators, deployments, running].some(({ isPending }) => isPending)}
            onSelect={select}
          />
        )
      }
    >
      <PageHeader
        actions={
          network &&
          [...network.servers, ...network.switches].some(({ origin }) => origin === 'twin') && <EmulatedMark />
        }
      >
        <TopologyTools
          canvas={canvas}
          listShown={listShown}
          onList={(shown) => setList(shown ? null : 'off')}
          chains={deployed.map(({ chain_id: id }) => ({
            value: id,
            label: chains.data?.find((one) => one.id === id)?.draft.title ?? id,
          }))}
          path={path}
          onReset={reset}
        />
      </PageHeader>
      <QueryBoundary query={infrastructure}>
        {scene && scene.nodes.size === 0 ? (
          <EmptyState icon={IconTopologyStar3} title="No network yet">
            The twin, or real servers whose agents join, appear here.
          </EmptyState>
        ) : (
          scene && (
            <div className={classes.body} data-list={listShown}>
              {listShown && <ElementList scene={scene} troubles={troubles} selected={selected} onSelect={pickInList} />}
              <div className={classes.stage}>
                <TopologyCanvas
                  ref={canvas}
                  scene={scene}
                  moved={places.moved}
                  onMoved={move}
                  overlay={overlay}
                  troubles={troubles}
                  chainColor={chainColor}
                  selected={selected}
                  onSelect={select}
                  nodes={nodes.data ?? []}
                  links={twin.data?.state?.links ?? []}
                />
                <Legend joints={overlay ? jointKinds(overlay) : []} />
              </div>
            </div>
          )
        )}
      </QueryBoundary>
    </WithDetail>
  );
}
