import { Global, Module } from '@nestjs/common';
import { CALIBRATION } from '../../ports/calibration.js';
import { CalibrationService } from './calibration.service.js';

@Global()
@Module({
  providers: [CalibrationService, { provide: CALIBRATION, useExisting: CalibrationService }],
  exports: [CALIBRATION],
})
export class CalibrationModule {}
