import { ActionIcon, Button, Select, Tooltip } from '@mantine/core';
import {
  IconLayoutSidebarLeftCollapse,
  IconLayoutSidebarLeftExpand,
  IconMaximize,
  IconRefresh,
  IconTopologyStar3,
  IconZoomIn,
  IconZoomOut,
} from '@tabler/icons-react';
import { useCallback, useMemo, useRef, useState } from 'react';
import {
  useAccelerators,
  useDeployments,
  useInfrastructure,
  useNfInstances,
  useNodes,
  usePipelines,
  usePlan,
  useTwin,
} from '../../shared/api/queries.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import { seriesColor, usePalette } from '../../shared/theme/palette.js';
import { useCommands } from '../../shared/ui/commands.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { PageHeader } from '../../shared/ui/page-header.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { Details } from './details.js';
import type { Target } from './draw.js';
import { ElementList } from './element-list.js';
import { Legend } from './legend.js';
import { buildScene } from './model.js';
import { overlayOf } from './overlay.js';
import { loadPlaces, savePlaces } from './saved-places.js';
import { useSelection } from './selection.js';
import classes from './topology.module.css';
import { type CanvasHandle, TopologyCanvas } from './topology-canvas.js';

const SAMPLES = ['link/', 'node/', 'instance/', 'slot/'];

export function Component() {
  const infrastructure = useInfrastructure();
  const instances = useNfInstances();
  const accelerators = useAccelerators();
  const nodes = useNodes();
  const twin = useTwin();
  const pipelines = usePipelines();
  const deployments = useDeployments();
  const palette = usePalette();
  const [selected, select] = useSelection();
  const [chain, setChain] = useUrlParam('chain');
  const [list, setList] = useUrlParam('list');
  const canvas = useRef<CanvasHandle>(null);
  useWantSamples(SAMPLES);

  const network = infrastructure.data;
  const scene = useMemo(
    () => (network ? buildScene(network, instances.data ?? [], accelerators.data ?? []) : null),
    [network, instances.data, accelerators.data],
  );
  const name = network?.name ?? '';
  const [places, setPlaces] = useState({ name: '', moved: loadPlaces('') });
  if (name !== '' && places.name !== name) setPlaces({ name, moved: loadPlaces(name) });

  const deployed = useMemo(() => deployments.data ?? [], [deployments.data]);
  const deployment = deployed.find(({ pipeline_id }) => pipeline_id === chain);
  const pipeline = pipelines.data?.find(({ id }) => id === chain);
  const plan = usePlan(deployment?.plan_id);
  const overlay = useMemo(
    () => (scene && plan.data && pipeline && deployment ? overlayOf(scene, plan.data, pipeline) : null),
    [scene, plan.data, pipeline, deployment],
  );
  const chainColor = useCallback(
    (id: string) => {
      const index = deployed.findIndex(({ pipeline_id }) => pipeline_id === id);
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

  useCommands([
    {
      id: 'topology.fit',
      title: 'Show the whole network',
      group: 'Topology',
      keys: 'f',
      run: () => canvas.current?.fit(),
    },
    { id: 'topology.zoom-in', title: 'Zoom in', group: 'Topology', keys: '+', run: () => canvas.current?.zoomBy(1.3) },
    {
      id: 'topology.zoom-out',
      title: 'Zoom out',
      group: 'Topology',
      keys: '-',
      run: () => canvas.current?.zoomBy(1 / 1.3),
    },
    { id: 'topology.reset', title: 'Reset the layout', group: 'Topology', run: reset },
    {
      id: 'topology.list',
      title: listShown ? 'Hide the list' : 'Show the list',
      group: 'Topology',
      keys: 'l',
      run: () => setList(listShown ? 'off' : null),
    },
    ...(selected
      ? [
          {
            id: 'topology.clear',
            title: 'Clear the selection',
            group: 'Topology',
            keys: 'Escape',
            run: () => select(null),
          },
        ]
      : []),
  ]);

  return (
    <WithDetail
      detail={
        selected &&
        scene && (
          <Details
            key={`${selected.kind} ${selected.id}`}
            target={selected}
            scene={scene}
            nodes={nodes.data ?? []}
            onSelect={select}
          />
        )
      }
    >
      <PageHeader
        title="Topology"
        actions={
          network &&
          [...network.servers, ...network.switches].some(({ origin }) => origin === 'twin') && <EmulatedMark />
        }
      >
        <Tooltip label={listShown ? 'Hide the list' : 'Show the list'}>
          <ActionIcon
            aria-label={listShown ? 'Hide the list' : 'Show the list'}
            aria-expanded={listShown}
            onClick={() => setList(listShown ? 'off' : null)}
          >
            {listShown ? <IconLayoutSidebarLeftCollapse size={16} /> : <IconLayoutSidebarLeftExpand size={16} />}
          </ActionIcon>
        </Tooltip>
        <Select
          className={classes.chain}
          aria-label="Show the path of a chain"
          placeholder={deployed.length === 0 ? 'No chain is deployed' : 'Show the path of a chain'}
          disabled={deployed.length === 0}
          clearable
          data={deployed.map(({ pipeline_id: id }) => ({
            value: id,
            label: pipelines.data?.find((one) => one.id === id)?.draft.title ?? id,
          }))}
          value={chain || null}
          onChange={setChain}
        />
        {overlay && (
          <span className="muted">
            {overlay.edges.filter(({ cut }) => cut).length} of {overlay.edges.length} edges cross the switch (dotted)
          </span>
        )}
        <div className={classes.tools}>
          <Button variant="default" leftSection={<IconRefresh size={14} />} onClick={reset}>
            Reset layout
          </Button>
          <ActionIcon.Group>
            <ActionIcon variant="default" aria-label="Zoom out" onClick={() => canvas.current?.zoomBy(1 / 1.3)}>
              <IconZoomOut size={16} />
            </ActionIcon>
            <ActionIcon variant="default" aria-label="Zoom in" onClick={() => canvas.current?.zoomBy(1.3)}>
              <IconZoomIn size={16} />
            </ActionIcon>
            <ActionIcon variant="default" aria-label="Show the whole network" onClick={() => canvas.current?.fit()}>
              <IconMaximize size={16} />
            </ActionIcon>
          </ActionIcon.Group>
        </div>
      </PageHeader>
      <QueryBoundary query={infrastructure}>
        {scene && scene.nodes.size === 0 ? (
          <EmptyState icon={IconTopologyStar3} title="There is no network yet">
            The twin, or real servers whose agents join, appear here.
          </EmptyState>
        ) : (
          scene && (
            <div className={classes.body} data-list={listShown}>
              {listShown && <ElementList scene={scene} selected={selected} onSelect={pickInList} />}
              <div className={classes.stage}>
                <TopologyCanvas
                  ref={canvas}
                  scene={scene}
                  moved={places.moved}
                  onMoved={move}
                  overlay={overlay}
                  chainColor={chainColor}
                  selected={selected}
                  onSelect={select}
                  nodes={nodes.data ?? []}
                  links={twin.data?.state?.links ?? []}
                />
                <Legend />
              </div>
            </div>
          )
        )}
      </QueryBoundary>
    </WithDetail>
  );
}
