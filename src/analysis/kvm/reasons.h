/* Why guests left guest mode: the names of reasons, by the processor's extension that reports them. */
#pragma once

#include <stdint.h>

enum kvm_reason_kind {
	KVM_REASON_VMX,	      /* Intel: basic exit reasons (SDM volume 3, appendix C) */
	KVM_REASON_SVM,	      /* AMD: exit codes (APM volume 2, appendix C) */
	KVM_REASON_ARM,	      /* what brought KVM back: an interrupt, an error, a trap */
	KVM_REASON_ARM_CLASS, /* of a trap: the exception class of the syndrome register (Arm ARM, ESR_ELx.EC) */
};

/* NULL = none that is known. */
const char *kvm_reason_name(enum kvm_reason_kind kind, uint64_t code);
