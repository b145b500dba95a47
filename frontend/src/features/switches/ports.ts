import { useMemo } from 'react';
import { useInfrastructure } from '../../shared/api/queries.js';

/** What is connected to each port of a switch, by the name of the port. */
export function useNeighbours(switchId: string): ReadonlyMap<string, string> {
  const { data } = useInfrastructure();
  return useMemo(
    () =>
      new Map(
        data?.links.flatMap(({ a, b }) => [
          ...(a.node === switchId ? [[a.port, b.node] as const] : []),
          ...(b.node === switchId ? [[b.port, a.node] as const] : []),
        ]),
      ),
    [data, switchId],
  );
}

/** Text of a port with what is connected to it, where that is known. */
export type PortText = (port: string) => string;

export const portText =
  (neighbours: ReadonlyMap<string, string>): PortText =>
  (port) => {
    const neighbour = neighbours.get(port);
    return neighbour ? `${port} (${neighbour})` : port;
  };
