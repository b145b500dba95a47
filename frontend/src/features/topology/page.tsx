import { PageHeader } from '../../shared/ui/page-header.js';

export function Component() {
  return <PageHeader title="topology" />;
}
