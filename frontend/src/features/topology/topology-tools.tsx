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

interface TopologyToolsProps {
  readonly canvas: RefObject<CanvasHandle | null>;
  readonly listShown: boolean;
  readonly onList: (shown: boolean) => void;
  /** Deployed chains, whose path can be shown. */
  readonly chains: readonly { readonly value: string; readonly label: string }[];
  readonly chainId: string;
  readonly onChain: (chainId: string | null) => void;
  readonly overlay: Overlay | null;
  readonly onReset: () => void;
}

export function TopologyTools(props: TopologyToolsProps) {
  const { canvas, listShown, onList, chains, chainId, onChain, overlay, onReset } = props;
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
        value={chainId || null}
        onChange={onChain}
      />
      {overlay && (
        <span className="muted">
          {overlay.edges.filter(({ cut }) => cut).length} of {overlay.edges.length} edges cross the switch (dotted)
        </span>
      )}
      <div className={classes.tools}>
        <Button variant="default" leftSection={<IconRefresh size={14} />} onClick={onReset}>
          Reset layout
        </Button>
        <ZoomButtons canvas={canvas} />
      </div>
    </>
  );
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
