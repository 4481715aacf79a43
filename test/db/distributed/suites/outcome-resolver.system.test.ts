import './in-parts.ts'
import '../../../recovery/outcome-resolver.test.ts'
