import { ActionIcon, Button, Select, Tooltip } from '@mantine/core';
import {
  IconLayoutSidebarLeftCollapse,
  IconLayoutSidebarLeftExpand,
  IconMaximize,
  IconRefresh,
  IconZoomIn,
  IconZoomOut,
} from '@tabler/icons-react';
import type { RefObject } from 'react';
import type { Overlay } from './overlay.js';
import classes from './topology.module.css';
import type { CanvasHandle } from './topology-canvas.js';
import type { ShownPath } from './use-shown-path.js';

interface TopologyToolsProps {
  readonly canvas: RefObject<CanvasHandle | null>;
  readonly listShown: boolean;
  readonly onList: (shown: boolean) => void;
  /** Deployed chains, whose path can be shown. */
  readonly chains: readonly { readonly value: string; readonly label: string }[];
  readonly path: ShownPath;
  readonly onReset: () => void;
}

export function TopologyTools(props: TopologyToolsProps) {
  const { canvas, listShown, onList, chains, path, onReset } = props;
  return (
    <>
      <Tooltip label={listShown ? 'Hide the list' : 'Show the list'}>
        <ActionIcon
          aria-label={listShown ? 'Hide the list' : 'Show the list'}
          aria-expanded={listShown}
          onClick={() => onList(!listShown)}
        >
          {listShown ? <IconLayoutSidebarLeftCollapse size={16} /> : <IconLayoutSidebarLeftExpand size={16} />}
        </ActionIcon>
      </Tooltip>
      <Select
        className={classes.chain}
        aria-label="Show the path of a chain"
        placeholder={chains.length === 0 ? 'No chain is deployed' : 'Show the path of a chain'}
        disabled={chains.length === 0}
        clearable
        data={[...chains]}
        value={path.chainId || null}
        onChange={(chainId) => path.show(chainId, null)}
      />
      <WayChoice path={path} />
      {path.overlay && <span className="muted">{crossingText(path.overlay, path.wayId)}</span>}
      <div className={classes.tools}>
        <Button variant="default" leftSection={<IconRefresh size={14} />} onClick={onReset}>
          Reset layout
        </Button>
        <ZoomButtons canvas={canvas} />
      </div>
    </>
  );
}

/** Which of the ways of the shown chain; nothing where it has none. */
function WayChoice({ path: { chainId, wayId, ways, show } }: { readonly path: ShownPath }) {
  if (ways.length === 0 && wayId === '') return null;
  const taken = ways.filter((way) => way.classes.length > 0).map(({ id }) => id);
  return (
    <Select
      className={classes.way}
      aria-label="Show a way of the chain"
      placeholder="All ways"
      clearable
      searchable
      data={taken.includes(wayId) || wayId === '' ? taken : [wayId, ...taken]}
      value={wayId || null}
      onChange={(way) => show(chainId, way)}
    />
  );
}

function crossingText({ edges }: Overlay, wayId: string): string {
  if (edges.length === 0 && wayId !== '') return `No edge that runs leads along ${wayId}`;
  return `${edges.filter(({ cut }) => cut).length} of ${edges.length} edges cross the switch (dotted)`;
}

function ZoomButtons({ canvas }: { readonly canvas: RefObject<CanvasHandle | null> }) {
  return (
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
  );
}
