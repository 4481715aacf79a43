import './in-parts.ts'
import '../../../recovery/reaper.test.ts'
