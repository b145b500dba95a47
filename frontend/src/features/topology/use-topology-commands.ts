import type { RefObject } from 'react';
import { useCommands } from '../../shared/ui/commands.js';
import type { CanvasHandle } from './topology-canvas.js';

interface TopologyCommands {
  readonly canvas: RefObject<CanvasHandle | null>;
  readonly reset: () => void;
  readonly listShown: boolean;
  readonly setList: (value: string | null) => void;
  /** Null while nothing is selected. */
  readonly clear: (() => void) | null;
}

export function useTopologyCommands({ canvas, reset, listShown, setList, clear }: TopologyCommands): void {
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
    ...(clear
      ? [
          {
            id: 'topology.clear',
            title: 'Clear the selection',
            group: 'Topology',
            keys: 'Escape',
            run: clear,
          },
        ]
      : []),
  ]);
}
