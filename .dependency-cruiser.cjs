/** The import table of docs/architecture.md as rules: what is not allowed there fails here. */
const OURS = '^(backend|frontend|agents|e2e|scripts|twin|fpga)/';
const CONTRACT = '^backend/contract/';
const PLANNER = '^backend/planner/';

/** A package is imported by what it exports, which lies in its `dist/`; so a path stands for sources and build alike. */
const mayImport = (name, from, ...allowed) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: OURS, pathNot: ['/node_modules/', ...allowed] },
});

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-folder-cycles-in-the-console',
      severity: 'error',
      scope: 'folder',
      from: { path: '^frontend/src/' },
      to: { circular: true },
    },
    {
      name: 'everything-resolves',
      comment: 'An import that leads nowhere would slip through every rule about where it leads.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    mayImport('contract-imports-nothing-of-ours', CONTRACT, CONTRACT),
    mayImport('planner-imports-contract-only', PLANNER, PLANNER, CONTRACT),
    {
      name: 'planner-is-pure',
      comment: 'No I/O, clock or framework: they are passed in. Tests may read fixtures.',
      severity: 'error',
      from: { path: '^backend/planner/src/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'planner-by-its-entry-only',
      severity: 'error',
      from: { path: OURS, pathNot: PLANNER },
      to: { path: PLANNER, pathNot: '^backend/planner/(src|dist)/index\\.' },
    },
    {
      name: 'planner-is-measured-by-its-entry',
      comment: 'What a figure is of can be used by others. The fixtures of tests are not.',
      severity: 'error',
      from: { path: '^backend/planner/bench/' },
      to: { path: '^backend/planner/(src|dist)/', pathNot: '^backend/planner/(dist/index\\.|src/testing/)' },
    },
    mayImport('server-imports-contract-and-planner', '^backend/server/', '^backend/server/', PLANNER, CONTRACT),
    {
      name: 'server-modules-meet-through-ports',
      severity: 'error',
      from: { path: '^backend/server/src/modules/([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^backend/server/src/modules/([^/]+)/', pathNot: '^backend/server/src/modules/$1/' },
    },
    {
      name: 'ports-and-platform-know-no-module',
      severity: 'error',
      from: { path: '^backend/server/src/(ports|platform)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^backend/server/src/modules/' },
    },
    {
      name: 'ports-know-no-http',
      comment: 'What a port throws has no status: adapters give it one.',
      severity: 'error',
      from: { path: '^backend/server/src/ports/' },
      to: { path: '^backend/server/src/platform/problem\\.' },
    },
    mayImport('console-reaches-the-server-by-api-only', '^frontend/', '^frontend/', PLANNER, CONTRACT),
    mayImport(
      'editor-model-imports-contract-and-planner',
      '^frontend/src/editor-model/',
      '^frontend/src/editor-model/',
      PLANNER,
      CONTRACT,
    ),
    {
      name: 'editor-model-without-react',
      severity: 'error',
      from: { path: '^frontend/src/editor-model/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '(^|/)node_modules/(react|react-dom|@xyflow|@mantine)/' },
    },
    mayImport(
      'pages-import-editor-model-and-shared',
      '^frontend/src/features/([^/]+)/',
      '^frontend/src/features/$1/',
      '^frontend/src/(editor-model|shared)/',
      CONTRACT,
    ),
    mayImport('shared-knows-no-page', '^frontend/src/shared/', '^frontend/src/(shared|editor-model)/', CONTRACT),
    mayImport('agent-imports-contract-only', '^agents/node/', '^agents/node/', CONTRACT),
    {
      name: 'agent-drivers-know-their-port-only',
      comment:
        'A driver is its own folder, what legacy NFs or P4 switches have in common and what stands beside the folders; it raises events and uses the platform.',
      severity: 'error',
      from: { path: '^agents/node/src/drivers/([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^agents/node/src/',
        pathNot: [
          '^agents/node/src/drivers/($1/|(legacy|p4runtime|p4-fabric|p4-own|p4-switch)/|[^/]+$)',
          '^agents/node/src/(platform/|link/agent-event\\.ts|package-root\\.ts)',
        ],
      },
    },
    {
      name: 'agent-driver-port-knows-no-driver',
      severity: 'error',
      from: { path: '^agents/node/src/drivers/[^/]+$' },
      to: { path: '^agents/node/src/drivers/[^/]+/' },
    },
    mayImport('e2e-uses-public-surfaces-only', '^e2e/', '^(e2e|scripts)/', CONTRACT),
  ],
  options: {
    doNotFollow: { path: 'node_modules|/dist/|/generated/' },
    exclude: { path: '\\.vite/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
