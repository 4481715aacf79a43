import './in-parts.ts'
import '../../../operations/follow-dispute/phases.test.ts'
