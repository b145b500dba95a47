import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { PageBody, PageHeader } from '../shared/page/page-header.js';
import { EmptyState } from '../shared/ui/states.js';

export function NotFound() {
  return (
    <>
      <PageHeader title="No such page" />
      <PageBody>
        <EmptyState title="Nothing is at this address">
          <Anchor component={Link} to="/">
            Go to the overview
          </Anchor>
        </EmptyState>
      </PageBody>
    </>
  );
}
