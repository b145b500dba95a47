import { ReactFlowProvider } from '@xyflow/react';
import { Workbench } from './workbench.js';

export function Component() {
  return (
    <ReactFlowProvider>
      <Workbench />
    </ReactFlowProvider>
  );
}
