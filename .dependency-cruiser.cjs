/** The import table of docs/architecture.md as rules: what is not allowed there fails here. */
const inside = (path) => ({ path });

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'contract-imports-nothing-of-ours',
      severity: 'error',
      from: inside('^backend/contract/'),
      to: { path: '^(backend/(planner|server)|frontend|agents|e2e)/' },
    },
    {
      name: 'planner-imports-contract-only',
      severity: 'error',
      from: inside('^backend/planner/'),
      to: { path: '^(backend/server|frontend|agents|e2e)/' },
    },
    {
      name: 'planner-is-pure',
      comment: 'No I/O, clock or framework: they are passed in. Tests may read fixtures.',
      severity: 'error',
      from: { path: '^backend/planner/src/', pathNot: '\\.test\\.ts$|/testing/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'server-imports-contract-and-planner',
      severity: 'error',
      from: inside('^backend/server/'),
      to: { path: '^(frontend|agents|e2e)/' },
    },
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
      name: 'editor-model-without-react',
      severity: 'error',
      from: { path: '^frontend/src/editor-model/', pathNot: '\\.test\\.tsx?$' },
      to: { path: '^frontend/src/(app|features|shared)/|node_modules/(react|react-dom|@xyflow|@mantine)/' },
    },
    {
      name: 'pages-do-not-import-pages',
      severity: 'error',
      from: { path: '^frontend/src/features/([^/]+)/' },
      to: { path: '^frontend/src/(app/|features/([^/]+)/)', pathNot: '^frontend/src/features/$1/' },
    },
    {
      name: 'shared-knows-no-page',
      severity: 'error',
      from: inside('^frontend/src/shared/'),
      to: { path: '^frontend/src/(app|features|editor-model)/' },
    },
    {
      name: 'console-reaches-the-server-by-api-only',
      severity: 'error',
      from: inside('^frontend/'),
      to: { path: '^(backend/server|agents|e2e)/' },
    },
    {
      name: 'agent-imports-contract-only',
      severity: 'error',
      from: inside('^agents/node/'),
      to: { path: '^(backend/(planner|server)|frontend|e2e)/' },
    },
    {
      name: 'agent-drivers-are-separate',
      severity: 'error',
      from: { path: '^agents/node/src/drivers/([^/]+)/', pathNot: '\\.test\\.ts$' },
      to: { path: '^agents/node/src/drivers/([^/]+)/', pathNot: '^agents/node/src/drivers/$1/' },
    },
    {
      name: 'e2e-uses-public-surfaces-only',
      severity: 'error',
      from: inside('^e2e/'),
      to: { path: '^(backend/(planner|server)|frontend/src|agents)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/dist/|/generated/|\\.vite/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
