import { Global, Module } from '@nestjs/common';
import { LEASES } from '../../ports/lease-book.js';
import { LeaseBookService } from './lease-book.service.js';

@Global()
@Module({
  providers: [LeaseBookService, { provide: LEASES, useExisting: LeaseBookService }],
  exports: [LEASES],
})
export class LeasesModule {}
