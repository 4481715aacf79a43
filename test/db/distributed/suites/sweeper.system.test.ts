import './in-parts.ts'
import '../../../recovery/sweeper.test.ts'
