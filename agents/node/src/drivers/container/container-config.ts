import { CONTROL_SOCKET } from './box-client.js';

/** Where the NF's own folder is in its container. */
const INSIDE = '/instance';
export const INSTANCE_FILE = 'instance.json';

export const NODE_LABEL = 'orrery.node';
export const INSTANCE_LABEL = 'orrery.instance';

const MEMORY_BYTES = 256 * 1024 * 1024;
const NANO_CPUS = 1e9;
const PIDS_LIMIT = 16;

interface Common {
  image: string;
  node: string;
  instance_id: string;
}

const common = ({ image, node, instance_id }: Common) => ({
  Image: image,
  Labels: { [NODE_LABEL]: node, [INSTANCE_LABEL]: instance_id },
});

const confined = {
  CapDrop: ['ALL'],
  ReadonlyRootfs: true,
  SecurityOpt: ['no-new-privileges'],
  Memory: MEMORY_BYTES,
  MemorySwap: MEMORY_BYTES,
  PidsLimit: PIDS_LIMIT,
  RestartPolicy: { Name: 'no' },
  LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
};

/** Owns the network namespace with the NF's interfaces, so that they stay when the NF starts again. */
export const holderConfig = (of: Common) => ({
  ...common(of),
  Cmd: ['hold'],
  HostConfig: { ...confined, NetworkMode: 'none' },
});

/** The NF, in the namespace of its holder. `directory` is the host's. */
export const nfConfig = (of: Common, holder: string, directory: string) => ({
  ...common(of),
  Cmd: ['run', '--near', 'near', '--far', 'far', '--instance', `${INSIDE}/${INSTANCE_FILE}`].concat(
    '--control',
    `${INSIDE}/${CONTROL_SOCKET}`,
  ),
  HostConfig: {
    ...confined,
    CapAdd: ['NET_RAW'],
    NanoCpus: NANO_CPUS,
    NetworkMode: `container:${holder}`,
    Binds: [`${directory}:${INSIDE}`],
  },
});
