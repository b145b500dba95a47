import { Global, Module } from '@nestjs/common';
import { DATA_PATH } from '../../ports/data-path.js';
import { DataPathService } from './data-path.service.js';

@Global()
@Module({
  providers: [DataPathService, { provide: DATA_PATH, useExisting: DataPathService }],
  exports: [DATA_PATH],
})
export class DataPathModule {}
